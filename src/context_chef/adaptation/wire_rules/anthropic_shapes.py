"""The keys and types of a request to Anthropic Messages, beta features included."""

from __future__ import annotations

from context_chef.adaptation.wire_rules.shapes import ShapeTable

ANTHROPIC_SHAPES = ShapeTable("""
Block = Text|Image|Document|SearchResult|Thinking|RedactedThinking|ToolUse|ToolResult
    |ServerToolUse|WebSearchToolResult|WebFetchToolResult|AdvisorToolResult
    |CodeExecutionToolResult|BashCodeExecutionToolResult|TextEditorCodeExecutionToolResult
    |ToolSearchToolResult|MCPToolUse|MCPToolResult|ContainerUpload|Compaction|MCPToolListing
    |ToolAddition|ToolRemoval|FallbackMark
AnyTool = Tool|BashTool|CodeExecutionTool|BrowserToolset|ComputerTool|ComputerToolset|MemoryTool
    |TextEditorTool|WebSearchTool|WebFetchTool|AdvisorTool|ToolSearchTool|MCPToolset
Effort = 'low'|'medium'|'high'|'xhigh'|'max'|null
Source = UrlSource|FileSource
Citation = CharCitation|PageCitation|BlockCitation|WebCitation|SearchCitation
Caller = DirectCaller|CodeCaller
AnyThinking = ThinkingEnabled|ThinkingDisabled|ThinkingBetweenTools|ThinkingAdaptive

Request: max_tokens!=int messages!=[UserMessage|AssistantMessage|SystemMessage] model!=str
    system=str|[Text] tools=[AnyTool] stop_sequences=[str] stream=bool|null +Cached
    tool_choice=ToolChoiceAuto|ToolChoiceAny|ToolChoiceTool|ToolChoiceNone
    thinking=AnyThinking output_config=OutputConfig output_format=JSONFormat|null
    metadata=Metadata
    service_tier='auto'|'standard_only' speed='fast'|'standard'|null inference_geo=str|null
    temperature=num top_p=num top_k=int
    context_management=ContextManagement|null compaction=CompactionConfig|null
    container=Container|str|null mcp_servers=[MCPServer] diagnostics=Diagnostics|null
    fallbacks=[Fallback]|'default'|null fallback_credit_token=str|FallbackCreditToken|null
    thread=ThreadCreate|ThreadContinue|null billing_policy=BillingPolicy|null
    betas=[str] user_profile_id=str workspace_id=str
Metadata: user_id=str|null
ToolChoiceAuto: type!='auto' disable_parallel_tool_use=bool
ToolChoiceAny: type!='any' disable_parallel_tool_use=bool
ToolChoiceTool: type!='tool' name!=str disable_parallel_tool_use=bool
ToolChoiceNone: type!='none'
ThinkingEnabled: type!='enabled' budget_tokens!=int +ThinkingShown
ThinkingDisabled: type!='disabled'
ThinkingBetweenTools: type!='between_tools'
ThinkingAdaptive: type!='adaptive' +ThinkingShown
+ThinkingShown: block_binding=ThinkingBinding|null display='summarized'|'omitted'|'updates'|null
ThinkingBinding: prefix_mismatch_behavior='error'|'drop_block'|null
OutputConfig: effort=Effort format=JSONFormat|null task_budget=TaskBudget|null
JSONFormat: type!='json_schema' schema!={any}
TaskBudget: type!='tokens' total!=int remaining=int|null

UserMessage: role!='user' content!=str|[Block]
AssistantMessage: role!='assistant' content!=str|[Block]
SystemMessage: role!='system' content!=str|[Text|ToolAddition|ToolRemoval]
    clear_at='next_user_message'|'never'|null output_config=SystemOutputConfig|null
SystemOutputConfig: effort=Effort

+Cached: cache_control=Cache|null
Cache: type!='ephemeral' ttl='5m'|'1h'
Text: type!='text' text!=str citations=[Citation]|null +Cached
+Cited: cited_text!=str document_index!=int document_title!=str|null
CharCitation: type!='char_location' start_char_index!=int end_char_index!=int +Cited
PageCitation: type!='page_location' start_page_number!=int end_page_number!=int +Cited
BlockCitation: type!='content_block_location' start_block_index!=int end_block_index!=int +Cited
WebCitation: type!='web_search_result_location' cited_text!=str encrypted_index!=str
    title!=str|null url!=str
SearchCitation: type!='search_result_location' cited_text!=str source!=str title!=str|null
    search_result_index!=int start_block_index!=int end_block_index!=int
UrlSource: type!='url' url!=str
FileSource: type!='file' file_id!=str
Image: type!='image' source!=ImageData|Source transformations=ImageTransformations|null +Cached
ImageData: type!='base64' data!=str
    media_type!='image/jpeg'|'image/png'|'image/gif'|'image/webp'
ImageTransformations: oversized_image='downsize'|'error'
Document: type!='document' source!=PDFData|PlainText|ContentSource|Source title=str|null
    context=str|null citations=CitationsConfig|null +Cached
PDFData: type!='base64' data!=str media_type!='application/pdf'
PlainText: type!='text' data!=str media_type!='text/plain'
ContentSource: type!='content' content!=str|[Text|Image]
CitationsConfig: enabled=bool
SearchResult: type!='search_result' content!=[Text] source!=str title!=str
    citations=CitationsConfig +Cached
Thinking: type!='thinking' thinking!=str signature!=str
RedactedThinking: type!='redacted_thinking' data!=str
ToolUse: type!='tool_use' id!=str name!=str input!={any} caller=Caller toolset_name=str|null
    +Cached
DirectCaller: type!='direct'
CodeCaller: type!='code_execution_20250825'|'code_execution_20260120' tool_id!=str
ToolResult: type!='tool_result' tool_use_id!=str is_error=bool toolset_name=str|null +Cached
    content=str|[Text|Image|SearchResult|Document|ToolReference|BrowserState]
ToolReference: type!='tool_reference' tool_name!=str +Cached
BrowserState: type!='browser_state' tabs!=[BrowserTab] state_changes=[BrowserChange]|null +Cached
BrowserTab: tab_id!=str title!=str url!=str active=bool
BrowserChange:
    type!='tab_opened'|'download_started'|'download_completed'|'download_failed'
    tab_id=str download_id=str url=str path=str|null size_bytes=int|null error=str|null
ServerToolUse: type!='server_tool_use' id!=str input!={any} caller=Caller +Cached
    name!='advisor'|'web_search'|'web_fetch'|'code_execution'|'bash_code_execution'
    |'text_editor_code_execution'|'tool_search_tool_regex'|'tool_search_tool_bm25'
WebSearchToolResult: type!='web_search_tool_result' tool_use_id!=str caller=Caller +Cached
    content!=[WebSearchResult]|WebSearchError
WebSearchResult: type!='web_search_result' encrypted_content!=str title!=str url!=str
    page_age=str|null
WebSearchError: type!='web_search_tool_result_error' error_code!=str
WebFetchToolResult: type!='web_fetch_tool_result' tool_use_id!=str content!=WebFetchError|WebFetch
    caller=Caller +Cached
WebFetchError: type!='web_fetch_tool_result_error' error_code!=str
WebFetch: type!='web_fetch_result' content!=Document url!=str retrieved_at=str|null
AdvisorToolResult: type!='advisor_tool_result' tool_use_id!=str +Cached
    content!=AdvisorError|AdvisorResult|AdvisorRedacted
AdvisorError: type!='advisor_tool_result_error' error_code!=str
AdvisorResult: type!='advisor_result' text!=str stop_reason=str|null
AdvisorRedacted: type!='advisor_redacted_result' encrypted_content!=str stop_reason=str|null
CodeExecutionToolResult: type!='code_execution_tool_result' tool_use_id!=str +Cached
    content!=CodeExecutionError|CodeExecutionResult|EncryptedCodeExecutionResult
CodeExecutionError: type!='code_execution_tool_result_error' error_code!=str
CodeExecutionResult: type!='code_execution_result' content!=[CodeExecutionOutput]
    return_code!=int stderr!=str stdout!=str
CodeExecutionOutput: type!='code_execution_output' file_id!=str
EncryptedCodeExecutionResult: type!='encrypted_code_execution_result'
    content!=[CodeExecutionOutput] encrypted_stdout!=str return_code!=int stderr!=str
BashCodeExecutionToolResult: type!='bash_code_execution_tool_result' tool_use_id!=str +Cached
    content!=BashCodeExecutionError|BashCodeExecutionResult
BashCodeExecutionError: type!='bash_code_execution_tool_result_error' error_code!=str
BashCodeExecutionResult: type!='bash_code_execution_result' content!=[BashCodeExecutionOutput]
    return_code!=int stderr!=str stdout!=str
BashCodeExecutionOutput: type!='bash_code_execution_output' file_id!=str
TextEditorCodeExecutionToolResult: type!='text_editor_code_execution_tool_result'
    tool_use_id!=str content!=EditorError|EditorView|EditorCreate|EditorReplace +Cached
EditorError: type!='text_editor_code_execution_tool_result_error' error_code!=str
    error_message=str|null
EditorView: type!='text_editor_code_execution_view_result' content!=str
    file_type!='text'|'image'|'pdf' num_lines=int|null start_line=int|null total_lines=int|null
EditorCreate: type!='text_editor_code_execution_create_result' is_file_update!=bool
EditorReplace: type!='text_editor_code_execution_str_replace_result' lines=[str]|null
    new_lines=int|null new_start=int|null old_lines=int|null old_start=int|null
ToolSearchToolResult: type!='tool_search_tool_result' tool_use_id!=str
    content!=ToolSearchError|ToolSearchFound +Cached
ToolSearchError: type!='tool_search_tool_result_error' error_code!=str error_message=str|null
ToolSearchFound: type!='tool_search_tool_search_result' tool_references!=[ToolReference]
MCPToolUse: type!='mcp_tool_use' id!=str name!=str server_name!=str input!={any} +Cached
MCPToolResult: type!='mcp_tool_result' tool_use_id!=str content=str|[Text] is_error=bool +Cached
MCPToolListing: type!='mcp_tool_listing' mcp_server_name!=str tools!=[MCPTool]
ContainerUpload: type!='container_upload' file_id!=str +Cached
Compaction: type!='compaction' content=str|null encrypted_content=str|null signature=str|null
    tool_changes=[ToolAddition|ToolRemoval]|null +Cached
ToolAddition: type!='tool_addition' +Cached
    tool!=ToolByName|MCPToolByName|MCPToolsetByName|ToolByDefinition
ToolRemoval: type!='tool_removal' tool!=ToolByName|MCPToolByName|MCPToolsetByName +Cached
ToolByName: type!='tool_reference' name!=str
MCPToolByName: type!='mcp_tool_reference' name!=str server_name!=str
MCPToolsetByName: type!='mcp_toolset_reference' server_name!=str
ToolByDefinition: type!='tool_definition' definition!=AnyTool
FallbackMark: type!='fallback' from!=FallbackInfo to!=FallbackInfo trigger=any
FallbackInfo: model!=str

+Offered: allowed_callers=[str] defer_loading=bool strict=bool +Cached
Tool: name!=str input_schema!={any} type='custom'|null description=str input_examples=[{any}]
    eager_input_streaming=bool|null +Offered
BashTool: type!='bash_20241022'|'bash_20250124' name!='bash' input_examples=[{any}] +Offered
CodeExecutionTool: name!='code_execution' +Offered
    type!='code_execution_20250522'|'code_execution_20250825'|'code_execution_20260120'
    |'code_execution_20260521'
BrowserToolset: type!='browser_toolset_20260801' configs={any}|null +Cached
ComputerTool: type!='computer_20241022'|'computer_20250124'|'computer_20251124' name!='computer'
    display_height_px!=int display_width_px!=int display_number=int|null enable_zoom=bool
    input_examples=[{any}] +Offered
ComputerToolset: type!='computer_toolset_20260801' configs={any}|null +Cached
MemoryTool: type!='memory_20250818' name!='memory' input_examples=[{any}] +Offered
TextEditorTool: name!='str_replace_editor'|'str_replace_based_edit_tool'
    type!='text_editor_20241022'|'text_editor_20250124'|'text_editor_20250429'
    |'text_editor_20250728'
    max_characters=int|null input_examples=[{any}] +Offered
+Web: allowed_domains=[str]|null blocked_domains=[str]|null max_uses=int|null
    response_inclusion='full'|'excluded' +Offered
WebSearchTool: type!='web_search_20250305'|'web_search_20260209'|'web_search_20260318'
    name!='web_search' user_location=UserLocation|null +Web
UserLocation: type!='approximate' city=str|null country=str|null region=str|null
    timezone=str|null
WebFetchTool: name!='web_fetch'
    type!='web_fetch_20250910'|'web_fetch_20260209'|'web_fetch_20260309'|'web_fetch_20260318'
    citations=CitationsConfig|null max_content_tokens=int|null url_sources={any}|null
    use_cache=bool +Web
AdvisorTool: type!='advisor_20260301' name!='advisor' model!=str caching=Cache|null
    max_tokens=int|null max_uses=int|null +Offered
ToolSearchTool: name!='tool_search_tool_bm25'|'tool_search_tool_regex' +Offered
    type!='tool_search_tool_bm25_20251119'|'tool_search_tool_bm25'
    |'tool_search_tool_regex_20251119'|'tool_search_tool_regex'
MCPToolset: type!='mcp_toolset' mcp_server_name!=str configs={MCPToolConfig}|null
    default_config=MCPToolConfig tools=[MCPTool]|null +Cached
MCPToolConfig: defer_loading=bool enabled=bool
MCPTool: name!=str input_schema!={any} description=str|null
MCPServer: type!='url' name!=str url!=str authorization_token=str|null
    tool_configuration=MCPServerTools|null
MCPServerTools: allowed_tools=[str]|null enabled=bool|null

Container: id=str|null skills=[Skill]|null
Skill: type!='anthropic'|'custom' skill_id!=str version=str
ContextManagement: edits=[ClearToolUses|ClearThinking|Compact]
ClearToolUses: type!='clear_tool_uses_20250919' clear_at_least=InputTokens|null
    clear_tool_inputs=bool|[str]|null exclude_tools=[str]|null keep=ToolUses
    trigger=InputTokens|ToolUses
InputTokens: type!='input_tokens' value!=int
ToolUses: type!='tool_uses' value!=int
ClearThinking: type!='clear_thinking_20251015' keep=ThinkingTurns|AllThinkingTurns|'all'
ThinkingTurns: type!='thinking_turns' value!=int
AllThinkingTurns: type!='all'
Compact: type!='compact_20260112' instructions=str|null pause_after_compaction=bool
    trigger=InputTokens|null
CompactionConfig: type!='summarize' instructions=str|null
Diagnostics: previous_message_id=str|null
Fallback: model!=str max_tokens=int|null output_config=OutputConfig|null
    speed='standard'|'fast'|null thinking=AnyThinking|null
FallbackCreditToken: token!=str mode='strict'|'best_effort'
BillingPolicy: type!='billing_policy' bill_to='self'|'user_profile'
ThreadCreate: type!='create'
ThreadContinue: type!='continue' previous_message_id!=str
""")

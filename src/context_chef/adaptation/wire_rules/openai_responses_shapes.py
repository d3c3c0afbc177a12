"""The keys and types of a request to OpenAI Responses."""

from __future__ import annotations

from context_chef.adaptation.wire_rules.shapes import ShapeTable

OPENAI_RESPONSES_SHAPES = ShapeTable(
    """
Item = EasyMessage|InputMessage|OutputMessage|FunctionCall|FunctionCallOutput
    |CustomCall|CustomCallOutput|Reasoning|Compaction|CompactionTrigger|ItemReference
    |FileSearchCall|WebSearchCall
    |ComputerCall|ComputerCallOutput|ToolSearchCall|ToolSearchOutput|AdditionalTools
    |ConfigurationUpdate|ImageGenerationCall|CodeInterpreterCall|LocalShellCall
    |LocalShellCallOutput|ShellCall|ShellCallOutput|ApplyPatchCall|ApplyPatchCallOutput
    |McpListTools|McpApprovalRequest|McpApprovalResponse|McpCall|Program|ProgramOutput
AnyTool = FunctionTool|CustomTool|NamespaceTool|ToolSearchTool|FileSearchTool|ComputerTool
    |ComputerPreviewTool|WebSearchTool|WebSearchPreviewTool|McpTool|CodeInterpreterTool
    |ProgrammaticTool|ImageGenerationTool|LocalShellTool|ShellTool|ApplyPatchTool
InputPart = InputText|InputImage|InputFile
Part = InputText|InputImage|InputFile|OutputText|Refusal
Status = 'in_progress'|'completed'|'incomplete'
SearchStatus = 'in_progress'|'searching'|'completed'|'incomplete'|'failed'
Effort = 'none'|'minimal'|'low'|'medium'|'high'|'xhigh'|'max'
Caller = CallerDirect|CallerProgram
Annotation = FileCitation|UrlCitation|ContainerCitation|FilePath
Choice = ChoiceAllowed|ChoiceFunction|ChoiceCustom|ChoiceMcp|ChoiceTypes

Request: model=str input=str|[Item] instructions=str tools=[AnyTool]
    tool_choice='none'|'auto'|'required'|Choice parallel_tool_calls=bool max_tool_calls=int
    temperature=num top_p=num top_logprobs=int max_output_tokens=int reasoning=ReasoningConfig
    text=TextConfig include=[Include] store=bool previous_response_id=str
    conversation=str|WithId prompt=Prompt truncation='auto'|'disabled' background=bool
    background_options=BackgroundOptions context_management=[ContextManagement] image=ImageConfig
    stream=bool stream_options=StreamOptions metadata={str} user=str safety_identifier=str
    service_tier='auto'|'default'|'flex'|'scale'|'priority'|'fast'|'ultrafast'
    prompt_cache_key=str prompt_cache_options=CacheOptions
    prompt_cache_retention='in_memory'|'in-memory'|'24h' moderation=Moderation
    access_programs=AccessPrograms
Include = 'file_search_call.results'|'web_search_call.results'|'web_search_call.action.sources'
    |'message.input_image.image_url'|'computer_call_output.output.image_url'
    |'code_interpreter_call.outputs'|'reasoning.encrypted_content'
    |'message.output_text.logprobs'
ReasoningConfig: effort=Effort summary='auto'|'concise'|'detailed' mode=str
    generate_summary='auto'|'concise'|'detailed' context='auto'|'current_turn'|'all_turns'
TextConfig: format=TextFormat|SchemaFormat|ObjectFormat verbosity='low'|'medium'|'high'
TextFormat: type!='text'
ObjectFormat: type!='json_object'
SchemaFormat: type!='json_schema' name!=str schema!={any} description=str strict=bool
WithId: id!=str
Prompt: id!=str version=str variables={str|InputText|InputImage|InputFile}
BackgroundOptions: completion_window='soonest'|'2h'|'8h' continuation_id=str
ContextManagement: type!=str compact_threshold=int
ImageConfig: context_compression='auto'|'enabled'|'disabled'
StreamOptions: include_obfuscation=bool
CacheOptions: mode='implicit'|'explicit' ttl='30m'|'12h' prewarm=bool comparison_response_id=str
Moderation: model!=str policy=ModerationPolicy
ModerationPolicy: input=ModerationMode output=ModerationMode
ModerationMode: mode!='score'|'block'
AccessPrograms: cyber='standard'|'daybreak_blue'|'daybreak_red'

EasyMessage: role!='user'|'assistant'|'system'|'developer' content!=str|[Part] type='message'
    phase='commentary'|'final_answer'
InputMessage: role!='user'|'system'|'developer' content!=[Part] type='message' status=Status
OutputMessage: type!='message' role!='assistant' content!=[Part] id=str status=Status
    phase='commentary'|'final_answer'
+Marked: prompt_cache_breakpoint=Breakpoint
Breakpoint: mode!='explicit' ttl='30m'|'12h'
InputText: type!='input_text' text!=str +Marked
InputImage: type!='input_image' detail='low'|'high'|'auto'|'original' file_id=str image_url=str
    +Marked
InputFile: type!='input_file' detail='auto'|'low'|'high' file_data=str file_id=str file_url=str
    filename=str +Marked
OutputText: type!='output_text' text!=str annotations=[Annotation] logprobs=[any]
FileCitation: type!='file_citation' file_id!=str filename!=str index!=int
UrlCitation: type!='url_citation' url!=str title!=str start_index!=int end_index!=int
ContainerCitation: type!='container_file_citation' container_id!=str file_id!=str filename!=str
    start_index!=int end_index!=int
FilePath: type!='file_path' file_id!=str index!=int
Refusal: type!='refusal' refusal!=str
FunctionCall: type!='function_call' call_id!=str name!=str arguments!=str id=str status=Status
    namespace=str caller=Caller async=bool
FunctionCallOutput: type!='function_call_output' call_id=str output!=str|[InputPart] id=str
    name=str namespace=str status=Status caller=Caller
CustomCall: type!='custom_tool_call' call_id!=str name!=str input!=str id=str namespace=str
    caller=Caller async=bool status=Status
CustomCallOutput: type!='custom_tool_call_output' call_id!=str output!=str|[InputPart] id=str
    caller=Caller status=Status
CallerDirect: type!='direct'
CallerProgram: type!='program' caller_id!=str
Reasoning: type!='reasoning' summary!=[Summary] id=str encrypted_content=str status=Status
    content=[ReasoningText]
Summary: type!='summary_text' text!=str
ReasoningText: type!='reasoning_text' text!=str
Compaction: type!='compaction' encrypted_content!=str id=str created_by=str
CompactionTrigger: type!='compaction_trigger' id=str
ItemReference: id!=str type='item_reference'
FileSearchCall: type!='file_search_call' id!=str queries!=[str] status!=SearchStatus
    results=[FileResult]
FileResult: attributes={str|num|bool} file_id=str filename=str score=num text=str
WebSearchCall: type!='web_search_call' id!=str status!=SearchStatus
    action=WebSearch|WebOpen|WebFind
WebSearch: type!='search' query=str queries=[str] sources=[{any}]
WebOpen: type!='open_page' url=str
WebFind: type!='find_in_page' pattern!=str url!=str
ComputerCall: type!='computer_call' id!=str call_id!=str status!=Status
    pending_safety_checks!=[SafetyCheck] action={any} actions=[{any}]
SafetyCheck: id!=str code=str message=str
ComputerCallOutput: type!='computer_call_output' call_id!=str output!=Screenshot id=str
    acknowledged_safety_checks=[SafetyCheck] status=Status
Screenshot: type!='computer_screenshot' file_id=str image_url=str
ToolSearchCall: type!='tool_search_call' arguments!=any id=str call_id=str
    execution='server'|'client' status=Status
ToolSearchOutput: type!='tool_search_output' tools!=[AnyTool] id=str call_id=str
    execution='server'|'client' status=Status
AdditionalTools: type!='additional_tools' role!='developer' tools!=[AnyTool] id=str
ConfigurationUpdate: type!='configuration_update' id=str reasoning=EffortOnly text=FormatOnly
EffortOnly: effort=Effort
FormatOnly: format!=TextFormat|SchemaFormat
ImageGenerationCall: type!='image_generation_call' id!=str result=str
    status='in_progress'|'completed'|'generating'|'failed' action=str background=str error={any}
    output_format=str quality=str revised_prompt=str size=str svg_usage={any}
CodeInterpreterCall: type!='code_interpreter_call' id!=str code!=str|null container_id!=str
    outputs!=[CodeLogs|CodeImage]|null
    status!='in_progress'|'completed'|'incomplete'|'interpreting'|'failed'
CodeLogs: type!='logs' logs!=str
CodeImage: type!='image' url!=str
LocalShellCall: type!='local_shell_call' id!=str call_id!=str status!=Status
    action!=LocalShellAction
LocalShellAction: type!='exec' command!=[str] env!={str} timeout_ms=int user=str
    working_directory=str
LocalShellCallOutput: type!='local_shell_call_output' id!=str output!=str status=Status
ShellCall: type!='shell_call' call_id!=str action!=ShellAction id=str caller=Caller
    environment={any} status=Status
ShellAction: commands!=[str] max_output_length=int timeout_ms=int
ShellCallOutput: type!='shell_call_output' call_id!=str output!=[ShellOutput] id=str
    caller=Caller max_output_length=int status=Status
ShellOutput: stdout!=str stderr!=str outcome!=OutcomeTimeout|OutcomeExit
OutcomeTimeout: type!='timeout'
OutcomeExit: type!='exit' exit_code!=int
ApplyPatchCall: type!='apply_patch_call' call_id!=str status!='in_progress'|'completed' id=str
    operation!=CreateFile|DeleteFile|UpdateFile caller=Caller
CreateFile: type!='create_file' path!=str diff!=str
DeleteFile: type!='delete_file' path!=str
UpdateFile: type!='update_file' path!=str diff!=str
ApplyPatchCallOutput: type!='apply_patch_call_output' call_id!=str status!='completed'|'failed'
    id=str output=str caller=Caller
McpListTools: type!='mcp_list_tools' id!=str server_label!=str tools!=[McpListedTool] error=any
McpListedTool: name!=str input_schema!=any description=str annotations=any
McpApprovalRequest: type!='mcp_approval_request' id!=str arguments!=str name!=str
    server_label!=str
McpApprovalResponse: type!='mcp_approval_response' approval_request_id!=str approve!=bool id=str
    reason=str
McpCall: type!='mcp_call' id!=str arguments!=str name!=str server_label!=str output=str
    approval_request_id=str error=any
    status='in_progress'|'completed'|'incomplete'|'calling'|'failed'
Program: type!='program' id!=str call_id!=str code!=str fingerprint!=str
ProgramOutput: type!='program_output' id!=str call_id!=str result!=str
    status!='completed'|'incomplete'

+Offered: allowed_callers=['direct'|'programmatic'] defer_loading=bool
FunctionTool: type!='function' name!=str parameters={any} strict=bool description=str async=bool
    output_schema={any} +Offered
CustomTool: type!='custom' name!=str description=str format=CustomText|CustomGrammar async=bool
    +Offered
CustomText: type!='text'
CustomGrammar: type!='grammar' definition!=str syntax!='lark'|'regex'
NamespaceTool: type!='namespace' name!=str description!=str tools!=[FunctionTool|CustomTool]
ToolSearchTool: type!='tool_search' description=str execution='server'|'client' parameters=any
FileSearchTool: type!='file_search' vector_store_ids!=[str] filters={any} max_num_results=int
    ranking_options={any}
ComputerTool: type!='computer'
ComputerPreviewTool: type!='computer_use_preview' display_height!=int display_width!=int
    environment!='windows'|'mac'|'linux'|'ubuntu'|'browser'
WebSearchTool: type!='web_search'|'web_search_2025_08_26' external_web_access=bool
    filters=WebFilters search_context_size='low'|'medium'|'high' user_location=UserLocation
WebFilters: allowed_domains=[str]
UserLocation: type='approximate' city=str country=str region=str timezone=str
WebSearchPreviewTool: type!='web_search_preview'|'web_search_preview_2025_03_11'
    search_content_types=['text'|'image'] search_context_size='low'|'medium'|'high'
    user_location=UserLocation
McpTool: type!='mcp' server_label!=str server_url=str server_description=str connector_id=str
    tunnel_id=str authorization=str headers={str} allowed_tools=[str]|McpFilter
    require_approval='always'|'never'|McpApproval +Offered
McpFilter: read_only=bool tool_names=[str]
McpApproval: always=McpFilter never=McpFilter
CodeInterpreterTool: type!='code_interpreter' container!=str|AutoContainer
    allowed_callers=['direct'|'programmatic']
AutoContainer: type!='auto' file_ids=[str] memory_limit='1g'|'4g'|'16g'|'64g'
    network_policy={any}
ProgrammaticTool: type!='programmatic_tool_calling'
ImageGenerationTool: type!='image_generation' action='generate'|'edit'|'auto'
    background='transparent'|'opaque'|'auto' complexity='low'|'medium'|'high' frame_count=int
    frame_duration_ms=int input_fidelity='high'|'low' input_image_mask={any} model=str
    moderation='auto'|'low' output_compression=int partial_images=int size=str svg={any}
    output_format='png'|'webp'|'jpeg'|'gif'|'svg'
    quality='low'|'medium'|'high'|'xhigh'|'max'|'auto'
LocalShellTool: type!='local_shell'
ShellTool: type!='shell' environment={any} allowed_callers=['direct'|'programmatic']
ApplyPatchTool: type!='apply_patch' allowed_callers=['direct'|'programmatic']
ChoiceAllowed: type!='allowed_tools' mode!='auto'|'required' tools!=[{any}]
ChoiceFunction: type!='function' name!=str
ChoiceCustom: type!='custom' name!=str
ChoiceMcp: type!='mcp' server_label!=str name=str
ChoiceTypes: type!='file_search'|'web_search_preview'|'computer'|'computer_use_preview'
    |'computer_use'|'web_search_preview_2025_03_11'|'image_generation'|'code_interpreter'
    |'programmatic_tool_calling'|'apply_patch'|'shell'|'web_search'
""",
    null_is_absent=True,
)

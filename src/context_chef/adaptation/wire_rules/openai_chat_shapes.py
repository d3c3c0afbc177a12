"""The keys and types of a request to OpenAI Chat Completions."""

from __future__ import annotations

from context_chef.adaptation.wire_rules.shapes import ShapeTable

OPENAI_CHAT_SHAPES = ShapeTable(
    """
Message = DeveloperMessage|SystemMessage|UserMessage|AssistantMessage|ToolMessage|FunctionMessage
Call = FunctionToolCall|CustomToolCall

Request: model!=str messages!=[Message] tools=[FunctionTool|CustomTool]
    tool_choice='none'|'auto'|'required'|AllowedTools|NamedTool|NamedCustomTool
    parallel_tool_calls=bool functions=[OldFunction] function_call='none'|'auto'|Named
    temperature=num top_p=num n=int seed=int stop=str|[str] logit_bias={num} logprobs=bool
    top_logprobs=int frequency_penalty=num presence_penalty=num max_tokens=int
    max_completion_tokens=int
    reasoning_effort='none'|'minimal'|'low'|'medium'|'high'|'xhigh'|'max'
    verbosity='low'|'medium'|'high' response_format=TextFormat|SchemaFormat|ObjectFormat
    modalities=['text'|'audio'] audio=AudioOutput prediction=Prediction
    web_search_options=WebSearchOptions moderation=Moderation stream=bool
    stream_options=StreamOptions store=bool metadata={str} user=str safety_identifier=str
    service_tier='auto'|'default'|'flex'|'scale'|'priority'|'fast'
    prompt_cache_key=str prompt_cache_options=CacheOptions
    prompt_cache_retention='in_memory'|'in-memory'|'24h'

DeveloperMessage: role!='developer' content!=str|[Text] name=str
SystemMessage: role!='system' content!=str|[Text] name=str
UserMessage: role!='user' content!=str|[Text|Image|InputAudio|File] name=str
AssistantMessage: role!='assistant' content=str|[Text|Refusal] refusal=str tool_calls=[Call]
    function_call=FunctionCall audio=Named_id name=str annotations=[any] parsed=any
ToolMessage: role!='tool' content!=str|[Text] tool_call_id!=str name=str
FunctionMessage: role!='function' content!=str|null name!=str

+Marked: prompt_cache_breakpoint=Breakpoint
Breakpoint: mode!='explicit' ttl='30m'|'12h'
Text: type!='text' text!=str +Marked
Refusal: type!='refusal' refusal!=str
Image: type!='image_url' image_url!=ImageUrl +Marked
ImageUrl: url!=str detail='auto'|'low'|'high'|'original'
InputAudio: type!='input_audio' input_audio!=AudioData +Marked
AudioData: data!=str format!='wav'|'mp3'
File: type!='file' file!=FileData +Marked
FileData: file_data=str file_id=str filename=str
FunctionToolCall: id!=str type!='function' function!=FunctionCall index=int
CustomToolCall: id!=str type!='custom' custom!=CustomCall index=int
FunctionCall: name!=str arguments!=str parsed_arguments=any
CustomCall: name!=str input!=str
Named: name!=str
Named_id: id!=str

FunctionTool: type!='function' function!=Function
Function: name!=str description=str parameters={any} strict=bool
OldFunction: name!=str description=str parameters={any}
CustomTool: type!='custom' custom!=Custom
Custom: name!=str description=str format=CustomText|CustomGrammar
CustomText: type!='text'
CustomGrammar: type!='grammar' grammar!=Grammar
Grammar: definition!=str syntax!='lark'|'regex'
AllowedTools: type!='allowed_tools' allowed_tools!=AllowedToolList
AllowedToolList: mode!='auto'|'required' tools!=[{any}]
NamedTool: type!='function' function!=Named
NamedCustomTool: type!='custom' custom!=Named

TextFormat: type!='text'
ObjectFormat: type!='json_object'
SchemaFormat: type!='json_schema' json_schema!=JsonSchema
JsonSchema: name!=str description=str schema={any} strict=bool
AudioOutput: format!='wav'|'aac'|'mp3'|'flac'|'opus'|'pcm16' voice!=str|Named_id
Prediction: type!='content' content!=str|[Text]
WebSearchOptions: search_context_size='low'|'medium'|'high' user_location=Location
Location: type!='approximate' approximate!=Place
Place: city=str country=str region=str timezone=str
Moderation: model!=str policy=ModerationPolicy
ModerationPolicy: input=ModerationMode output=ModerationMode
ModerationMode: mode!='score'|'block'
StreamOptions: include_usage=bool include_obfuscation=bool
CacheOptions: mode='implicit'|'explicit' ttl='30m'|'12h'
""",
    null_is_absent=True,
)

"""The keys and types of a request to Gemini generateContent, in the REST spelling (camelCase)."""

from __future__ import annotations

from context_chef.adaptation.wire_rules.json_access import words
from context_chef.adaptation.wire_rules.shapes import ShapeTable

GEMINI_SHAPES = ShapeTable(
    """
Processing = 'STATIC'|'AGENTIC'
Resolution = 'MEDIA_RESOLUTION_UNSPECIFIED'|'MEDIA_RESOLUTION_LOW'|'MEDIA_RESOLUTION_MEDIUM'
    |'MEDIA_RESOLUTION_HIGH'|'MEDIA_RESOLUTION_ULTRA_HIGH'
ServerTool = 'TOOL_TYPE_UNSPECIFIED'|'GOOGLE_SEARCH_WEB'|'GOOGLE_SEARCH_IMAGE'|'URL_CONTEXT'
    |'GOOGLE_MAPS'|'FILE_SEARCH'|'MEDIA_PROCESSING'
Confidence = 'BLOCK_LOW_AND_ABOVE'|'BLOCK_MEDIUM_AND_ABOVE'|'BLOCK_HIGH_AND_ABOVE'
    |'BLOCK_HIGHER_AND_ABOVE'|'BLOCK_VERY_HIGH_AND_ABOVE'|'BLOCK_ONLY_EXTREMELY_HIGH'

Request: model=str contents!=[Content] systemInstruction=Content tools=[Tool]
    toolConfig=ToolConfig safetySettings=[SafetySetting] generationConfig=GenerationConfig
    cachedContent=str labels={str} store=bool serviceTier=str continuationToken=str
    modelArmorConfig={any}
Content: role=str parts=[Part]
Part: text=str inlineData=Blob fileData=FileData functionCall=FunctionCall
    functionResponse=FunctionResponse executableCode=ExecutableCode
    codeExecutionResult=CodeExecutionResult toolCall=ToolCall toolResponse=ToolResponse
    thought=bool thoughtSignature=bytes partMetadata={any} videoMetadata=VideoMetadata
    mediaResolution=PartResolution mediaProcessing=Processing audioTranscription={any}
    speechMetadata=SpeechMetadata documentMetadata={any} spreadsheetMetadata={any}
    audioMetadata={any}
PartResolution: level=Resolution numTokens=int
Blob: mimeType=str data=str displayName=str
FileData: fileUri=str mimeType=str displayName=str
FunctionCall: name=str args={any} id=str partialArgs=[{any}] willContinue=bool
FunctionResponse: name=str response={any} id=str parts=[ResponsePart] willContinue=bool
    scheduling='SCHEDULING_UNSPECIFIED'|'SILENT'|'WHEN_IDLE'|'INTERRUPT'
ResponsePart: inlineData=Blob fileData=FileData mediaProcessing=Processing
    mediaResolution=PartResolution videoMetadata=VideoMetadata documentMetadata={any}
    spreadsheetMetadata={any} audioMetadata={any}
ExecutableCode: code=str language='LANGUAGE_UNSPECIFIED'|'PYTHON' id=str
CodeExecutionResult: output=str id=str
    outcome='OUTCOME_UNSPECIFIED'|'OUTCOME_OK'|'OUTCOME_FAILED'|'OUTCOME_DEADLINE_EXCEEDED'
ToolCall: id=str toolType=ServerTool args={any}
ToolResponse: id=str toolType=ServerTool response={any}
VideoMetadata: startOffset=str endOffset=str fps=num contentLayers=[str]
SpeechMetadata: speaker=str style=str

Tool: functionDeclarations=[FunctionDeclaration] googleSearch=GoogleSearch
    googleSearchRetrieval=GoogleSearchRetrieval codeExecution=Nothing urlContext=Nothing
    googleMaps=GoogleMaps fileSearch=FileSearch computerUse=ComputerUse
    enterpriseWebSearch=EnterpriseWebSearch retrieval={any} parallelAiSearch={any} exaAiSearch={any}
    mcpServers=[McpServer]
FunctionDeclaration: name=str description=str parameters=Schema parametersJsonSchema=any
    response=Schema responseJsonSchema=any
    behavior='UNSPECIFIED'|'BLOCKING'|'NON_BLOCKING'
Schema = {any}
Nothing:
GoogleMaps: authConfig={any} enableWidget=bool groundingTypes={any}
EnterpriseWebSearch: blockingConfidence=Confidence excludeDomains=[str]
GoogleSearch: searchTypes={any} blockingConfidence=Confidence excludeDomains=[str]
    timeRangeFilter=Interval
Interval: startTime=str endTime=str
GoogleSearchRetrieval: dynamicRetrievalConfig=DynamicRetrieval
DynamicRetrieval: dynamicThreshold=num mode='MODE_UNSPECIFIED'|'MODE_DYNAMIC'
FileSearch: fileSearchStoreNames=[str] topK=int metadataFilter=str
ComputerUse: excludedPredefinedFunctions=[str] enablePromptInjectionDetection=bool
    environment='ENVIRONMENT_UNSPECIFIED'|'ENVIRONMENT_BROWSER'|'ENVIRONMENT_MOBILE'
    |'ENVIRONMENT_DESKTOP'
    disabledSafetyPolicies=[str]
McpServer: name=str streamableHttpTransport={any}
ToolConfig: functionCallingConfig=FunctionCallingConfig retrievalConfig=RetrievalConfig
    includeServerSideToolInvocations=bool
FunctionCallingConfig: allowedFunctionNames=[str] streamFunctionCallArguments=bool
    mode='MODE_UNSPECIFIED'|'AUTO'|'ANY'|'NONE'|'VALIDATED'
RetrievalConfig: latLng=LatLng languageCode=str
LatLng: latitude=num longitude=num

SafetySetting: method='HARM_BLOCK_METHOD_UNSPECIFIED'|'SEVERITY'|'PROBABILITY'
    category='HARM_CATEGORY_UNSPECIFIED'|'HARM_CATEGORY_HARASSMENT'|'HARM_CATEGORY_HATE_SPEECH'
    |'HARM_CATEGORY_SEXUALLY_EXPLICIT'|'HARM_CATEGORY_DANGEROUS_CONTENT'
    |'HARM_CATEGORY_CIVIC_INTEGRITY'|'HARM_CATEGORY_JAILBREAK'|'HARM_CATEGORY_IMAGE_HATE'
    |'HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT'|'HARM_CATEGORY_IMAGE_HARASSMENT'
    |'HARM_CATEGORY_IMAGE_SEXUALLY_EXPLICIT'
    threshold='HARM_BLOCK_THRESHOLD_UNSPECIFIED'|'BLOCK_LOW_AND_ABOVE'
    |'BLOCK_MEDIUM_AND_ABOVE'|'BLOCK_ONLY_HIGH'|'BLOCK_NONE'|'OFF'
GenerationConfig: temperature=num topP=num topK=num candidateCount=int maxOutputTokens=int
    stopSequences=[str] seed=int presencePenalty=num frequencyPenalty=num logprobs=int
    responseLogprobs=bool responseMimeType=str responseSchema=Schema responseJsonSchema=any
    responseFormat=any responseModalities=['TEXT'|'IMAGE'|'AUDIO'|'VIDEO'|'DOCUMENT']
    thinkingConfig=ThinkingConfig
    mediaResolution=Resolution speechConfig=SpeechConfig audioTimestamp=bool imageConfig={any}
    enableEnhancedCivicAnswers=bool enableAffectiveDialog=bool routingConfig={any}
    modelSelectionConfig={any} translationConfig={any} audioTranscriptionConfig={any}
ThinkingConfig: includeThoughts=bool thinkingBudget=int
    thinkingLevel='THINKING_LEVEL_UNSPECIFIED'|'MINIMAL'|'LOW'|'MEDIUM'|'HIGH'|'XHIGH'
    |'minimal'|'low'|'medium'|'high'|'xhigh'
SpeechConfig: voiceConfig={any} languageCode=str multiSpeakerVoiceConfig={any}
""",
    null_is_absent=True,
    single_is_list=True,
)

SCHEMA_KEYS = words(
    "type format title description nullable enum items minItems maxItems properties required "
    "minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering "
    "default minimum maximum"
)
"""What a schema in Gemini's own subset may hold."""

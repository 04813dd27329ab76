export { type AgentName, agentBinary, agentVersions } from './agents/binary.ts'
export { type PreparedOpencode, type PrepareOptions, prepareOpencode } from './agents/opencode.ts'
export { type BinaryOptions, cacheFolder, defaultVersion, opencodeBinary } from './binary.ts'
export type { Clock } from './clock.ts'
export { atLeast, type OpencodeConfig } from './config.ts'
export { demoFiles } from './demo/project.ts'
export { type DemoScenario, demoScenarios } from './demo/scenarios.ts'
export { type Demo, type DemoOptions, startDemo } from './demo/start.ts'
export { type MarkdownCase, markdownCases, type Renderings } from './dialects/cases.ts'
export { type HostileText, hostileTexts } from './dialects/hostile.ts'
export { type RenderingChannel, renderings } from './dialects/table.ts'
export type {
  DiscordChannel,
  DiscordComponent,
  DiscordEmbed,
  DiscordOption,
  DiscordUser,
} from './discord/channel.ts'
export type { DiscordFault } from './discord/fault.ts'
export type { DiscordInteraction } from './discord/interaction.ts'
export type { DiscordAllowance, DiscordBucket } from './discord/limits.ts'
export type { DiscordLink } from './discord/markdown.ts'
export { readDiscord } from './discord/markdown.ts'
export type { DiscordField, DiscordModal } from './discord/modal.ts'
export type { DiscordFrom } from './discord/person.ts'
export type { DiscordCallName } from './discord/routes/all.ts'
export type { DiscordMessage } from './discord/screen.ts'
export type { DiscordCall } from './discord/server.ts'
export { type DiscordOptions, type FakeDiscord, startDiscord } from './discord/start.ts'
export { TestingError, type TestingFailure } from './error.ts'
export { isSecond, secondVersion } from './generation.ts'
export { createHandClock, type HandClock } from './hand-clock.ts'
export { lasting } from './lasting.ts'
export { type LaunchOptions, launchOpencode, type Opencode, secondPassword } from './launch.ts'
export { type Model, type ModelOptions, type ModelRequest, startModel } from './model/start.ts'
export { createProject, type Project } from './project.ts'
export type { Fault, Place, RequestFault, StreamFault } from './proxy/fault.ts'
export {
  type FaultProxy,
  type PassedFrame,
  type ProxiedRequest,
  type ProxyOptions,
  startProxy,
} from './proxy/server.ts'
export { randomBy } from './random.ts'
export { serve } from './recorded/http.ts'
export { createRecordedServer, type RecordedServer, type RecordedServerOptions } from './recorded/server.ts'
export {
  listRecordings,
  type Posted,
  type Recording,
  type RecordingName,
  readRecording,
  type SessionTruth,
  type Truth,
} from './recordings.ts'
export { type Machine, redact } from './redact.ts'
export { promptFor, type Scenario, type ScenarioOptions, scenario } from './scenario.ts'
export { scenarios, scenariosOf } from './scenarios/all.ts'
export {
  cut,
  failure,
  hold,
  type Piece,
  type Pieces,
  reasoning,
  type Script,
  type Scripts,
  type Step,
  scenarioIn,
  scenarioToken,
  text,
  tool,
  usage,
} from './script.ts'
export type { SlackControl, SlackOption } from './slack/blocks.ts'
export type { SlackChannelOptions, SlackPerson, SlackWhisper } from './slack/chat.ts'
export type { SlackFault } from './slack/fault.ts'
export type { SlackFrom, SlackPeople, SlackSay } from './slack/person.ts'
export { slackHeaders } from './slack/request.ts'
export type { SlackMessage } from './slack/screen.ts'
export type { SlackCall } from './slack/server.ts'
export type { SlackPersonFile } from './slack/shared-file.ts'
export { type FakeSlack, type SlackOptions, startSlack } from './slack/start.ts'
export type { SlackFeatures } from './slack/state.ts'
export type { SlackTask, SlackTaskStatus } from './slack/stream.ts'
export type { SlackField, SlackView } from './slack/view.ts'
export type { TelegramButton, TelegramChat, TelegramChatType, TelegramPerson, TelegramRows } from './telegram/chat.ts'
export type { TelegramFault } from './telegram/fault.ts'
export type { TelegramCommand, TelegramSentFile } from './telegram/file.ts'
export type { TelegramEntity, TelegramMode } from './telegram/formatted.ts'
export type { TelegramFrom, TelegramPressBy, TelegramSay } from './telegram/person.ts'
export type { TelegramPress } from './telegram/press.ts'
export type { TelegramRichElement, TelegramRichNode } from './telegram/rich.ts'
export type { TelegramMessage } from './telegram/screen.ts'
export type { TelegramCall } from './telegram/server.ts'
export { type FakeTelegram, startTelegram, type TelegramOptions } from './telegram/start.ts'
export type { TelegramFeatures } from './telegram/state.ts'
export { until } from './until.ts'
export { recordedVersions, type Unsupported, unsupported, unsupportedReason } from './versions.ts'
export type { CloudKind, WhatsAppButton } from './whatsapp/cloud/content.ts'
export type { CloudFault } from './whatsapp/cloud/fault.ts'
export type { WhatsAppWebhookCall } from './whatsapp/cloud/hook.ts'
export type { WhatsAppPerson, WhatsAppSay } from './whatsapp/cloud/person.ts'
export type { WhatsAppCall } from './whatsapp/cloud/server.ts'
export { type FakeWhatsApp, startWhatsApp, type WhatsAppMessage, type WhatsAppOptions } from './whatsapp/cloud/start.ts'
export { readWhatsApp, type WhatsAppEntity, type WhatsAppFormatted } from './whatsapp/formatted.ts'
export type { SocketFault } from './whatsapp/socket/fault.ts'
export type { BaileysSay } from './whatsapp/socket/said.ts'
export type { BaileysCall, FakeSocket, FakeSocketEvents } from './whatsapp/socket/socket.ts'
export {
  type BaileysMessage,
  type BaileysOptions,
  createFakeBaileys,
  type FakeBaileys,
} from './whatsapp/socket/start.ts'

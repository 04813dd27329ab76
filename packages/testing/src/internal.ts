export { type AgentName, agentBinary, newestAgent } from './agents/binary.ts'
export { type PreparedOpencode, type PrepareOptions, prepareOpencode } from './agents/opencode.ts'
export { newestOpencode } from './binary.ts'
export { comparableReply } from './comparable-reply.ts'
export { demoFiles } from './demo/project.ts'
export { type MarkdownCase, markdownCases, type Renderings } from './dialects/cases.ts'
export { type HostileText, hostileTexts } from './dialects/hostile.ts'
export { type RenderingChannel, renderings } from './dialects/renderings.ts'
export { readDiscord } from './discord/markdown.ts'
export { createFastClock } from './fast-clock.ts'
export { isOpenCode2 } from './generation.ts'
export { onFreePort } from './port.ts'
export { hasPostgres, needsPostgres } from './postgres/programs.ts'
export {
  type PostgresProxy,
  type PostgresProxyOptions,
  type QueryMatcher,
  startPostgresProxy,
} from './postgres/proxy.ts'
export {
  type PostgresOptions,
  type PostgresServer,
  type PostgresStandby,
  type StandbyOptions,
  sharedPostgres,
  startPostgres,
  startStandby,
} from './postgres/server.ts'
export { seededRandom } from './random.ts'
export { serveFetch } from './recorded/http.ts'
export { type Machine, redact } from './redact.ts'
export { slackHeaders } from './slack/delivery.ts'
export { readWhatsApp, type WhatsAppFormatted } from './whatsapp/formatted.ts'

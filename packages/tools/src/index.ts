export { type OpenCodeHostOptions, openCodeHost } from './opencode-host.ts'
export { type ServeToolsOptions, serveTools, type ToolServer } from './serve-tools.ts'

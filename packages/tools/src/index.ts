export { type OpenCodeHostOptions, openCodeHost } from './opencode-host.ts'
export { type ServeOptions, serveTools, type ToolServer } from './serve-tools.ts'

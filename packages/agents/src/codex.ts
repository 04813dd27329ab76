export { type CodexOptions, codex } from './codex/source.ts'

export { type ClaudeOptions, claude } from './claude/source.ts'

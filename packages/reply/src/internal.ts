export { checkOf } from './source/opencode1/decode/check.ts'
export { eventSchemas, partSchemas } from './source/opencode1/decode/schema.ts'
export { createUtf8Reader } from './sse/utf8.ts'
export { emptyCells, withCell } from './track/cells.ts'

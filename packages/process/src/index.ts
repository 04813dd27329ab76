export { type Child, type ChildOptions, type Exit, startChild } from './child/start.ts'
export { type LineOptions, linesOf } from './lines.ts'

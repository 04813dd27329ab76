export type { AskPort } from './asking.ts'
export type { Input } from './keyboard.ts'
export { type ConsoleSink, type ConsoleSinkOptions, consoleSink, type Delivery } from './sink.ts'
export type { Environment, Output } from './surface.ts'

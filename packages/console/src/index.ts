export type { AskPort } from './asks/asking.ts'
export { type ConsoleSink, type ConsoleSinkOptions, consoleSink, type Delivery } from './sink.ts'
export type { Input } from './terminal/keyboard.ts'
export type { Environment, Output } from './terminal/surface.ts'

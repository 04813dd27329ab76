export type { AskPort } from './asks/asking.ts'
export { type ConsoleReport, type ConsoleSink, type ConsoleSinkOptions, consoleSink } from './sink.ts'
export type { Input } from './terminal/keyboard.ts'
export type { Environment, Output } from './terminal/surface.ts'

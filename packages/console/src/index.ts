export { type ConsoleReport, type ConsoleSink, type ConsoleSinkOptions, consoleSink } from './sink.ts'

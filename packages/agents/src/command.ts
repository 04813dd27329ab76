export {
  type CommandOptions,
  type CommandResult,
  type CommandSourceOptions,
  commandSource,
  run,
} from './command/source.ts'
export { linesOf } from './process/lines.ts'
export { type ProcessOptions, type StartedProcess, startProcess } from './process/start-process.ts'

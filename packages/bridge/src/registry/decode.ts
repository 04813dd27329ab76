import * as z from 'zod'
import type { QueuedPrompt } from '../intake/queued-prompt.ts'
import { type Execution, type LogLine, phases, statuses } from './execution.ts'

/** Checks what every prompt and execution has: the store holds what this package wrote, unless it was damaged. */
const prompt = z.looseObject({
  id: z.string(),
  channel: z.string(),
  chat: z.looseObject({ id: z.string() }),
  actor: z.looseObject({ id: z.string() }),
  text: z.string(),
  files: z.array(z.looseObject({})),
  messageRef: z.looseObject({ id: z.string() }),
  heardAt: z.number(),
})

const lines = z.array(z.looseObject({ from: z.string(), text: z.string() }))

const execution = z.looseObject({
  id: z.string(),
  phase: z.enum(phases),
  status: z.enum(statuses),
  server: z.string(),
  startedAt: z.number(),
  prompt,
  lines: lines.optional(),
})

/** An execution as an earlier version wrote it: its log was in it, and so was written and read with it each time. */
export interface LoggedExecution extends Execution {
  readonly lines?: readonly LogLine[] | undefined
}

/** Throws if the text isn't an execution. */
export function toExecution(text: string): LoggedExecution {
  const value: unknown = JSON.parse(text)
  execution.parse(value)
  return value as LoggedExecution
}

/** Throws if the text isn't a log. */
export function toLog(text: string): readonly LogLine[] {
  const value: unknown = JSON.parse(text)
  lines.parse(value)
  return value as readonly LogLine[]
}

/** Throws if the text isn't a prompt. */
export function toQueuedPrompt(text: string): QueuedPrompt {
  const value: unknown = JSON.parse(text)
  prompt.parse(value)
  return value as QueuedPrompt
}

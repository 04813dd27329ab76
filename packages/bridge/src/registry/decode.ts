import * as z from 'zod'
import type { QueuedPrompt } from '../intake/queued-prompt.ts'
import type { Execution } from './execution.ts'

/** Checks the basic shape only: the store holds what this package wrote. */
const prompt = z.looseObject({ id: z.string(), channel: z.string(), chat: z.looseObject({ id: z.string() }) })

const execution = z.looseObject({ id: z.string(), phase: z.string(), status: z.string(), prompt })

/** Throws if the text isn't an execution. */
export function toExecution(text: string): Execution {
  const value: unknown = JSON.parse(text)
  execution.parse(value)
  return value as Execution
}

/** Throws if the text isn't a prompt. */
export function toQueuedPrompt(text: string): QueuedPrompt {
  const value: unknown = JSON.parse(text)
  prompt.parse(value)
  return value as QueuedPrompt
}

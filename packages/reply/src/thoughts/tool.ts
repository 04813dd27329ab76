import type { Client } from '../client/client.ts'
import type { PromptInput } from '../source/input.ts'
import type { ValueSchema } from './decode/schema.ts'

/** A tool that runs in this process. */
export interface Tool<Input = unknown> {
  /** Tells the model what the tool does and when to call it. */
  readonly description: string
  /**
   * The input that the model must pass. An input that doesn't fit is answered with an error for the model and never
   * reaches the handler.
   */
  readonly schema: ValueSchema<Input>
  /**
   * Runs a call. The model receives a returned string as it is, and any other value as JSON. If it throws, the model
   * receives the error's message. The signal aborts when the agent cancels the call.
   */
  handler(input: Input, options: { readonly signal: AbortSignal }): unknown
}

/** Tools by name: letters, digits, `_` and `-`. */
export type Tools = Readonly<Record<string, Tool>>

/** Makes tools callable by an agent. */
export interface ToolHost {
  /**
   * Offers tools for one run. Resolves once the agent can call them, with the prompt as it must be posted: it may name
   * another session. `client` is the one that `createAgent` was given. Rejects with a `ReplyError` if the agent can't
   * call tools.
   */
  offer(tools: Tools, input: PromptInput, client: Pick<Client, 'prompt'>): Promise<OfferedTools>
}

/** Tools that an agent can call until they are closed. */
export interface OfferedTools {
  /** The prompt as it must be posted. */
  readonly input: PromptInput
  /** Removes the tools. Never rejects. */
  close(): Promise<void>
}

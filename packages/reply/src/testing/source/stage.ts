import type { Source } from '../../source/port.ts'
import type { Demand as AnyDemand } from './contract.ts'

/** A source to test, connected to a server. */
export interface SourceStage {
  /** The source to test. */
  readonly source: Source
  /** The same source for an address where no server runs. */
  readonly unreachable: Source
  /** A directory of the server, in the server's spelling. */
  readonly directory: string
  /** An existing session with messages. Absent if the server has none. */
  readonly existing?: ExistingSession | undefined
  /** Prompts with known results. Absent if the server takes no prompts, for example a recording. */
  readonly prompts?: StagePrompts | undefined
  /** Strings that no error may contain, for example passwords and tokens. */
  readonly secrets?: readonly string[] | undefined
  /** Stops the server. Called at the end of each clause. */
  close(): Promise<void>
}

/** The known content of a session on the server. */
export interface ExistingSession {
  /** Its id. */
  readonly sessionID: string
  /** The ids of all its messages, in order. */
  readonly messageIDs: readonly string[]
  /** The text of its newest answer. */
  readonly answer: string
  /** The ids of its sub-agents' sessions. */
  readonly childIDs: readonly string[]
}

/** Texts of prompts, each with a known result. */
export interface StagePrompts {
  /** The agent answers with `answer`. */
  readonly plain: { readonly text: string; readonly answer: string }
  /** The agent works until it is aborted. */
  readonly endless: string
  /** The agent asks for one permission, for a call with an input, then ends. Absent if it never asks. */
  readonly permission?: string | undefined
  /**
   * Like `permission`, but for a permission that no other prompt needs and that can be allowed always. Absent if there
   * is none.
   */
  readonly always?: string | undefined
  /** The agent edits a file, which it does without asking by default. Absent if it always asks. */
  readonly unasked?: string | undefined
  /** The agent asks one question with at least one option, then ends. Absent if it never asks. */
  readonly question?: string | undefined
  /** The agent starts a sub-agent that asks for one permission. Absent if the agent has no sub-agents. */
  readonly delegate?: string | undefined
  /** The name of one of the server's slash commands. Absent if it has none. */
  readonly command?: string | undefined
}

export type SourceDemand = AnyDemand<SourceStage>

/** Throws an `Error` with the message if the condition is false. */
export function check(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message)
}

/** Returns the stage's existing session. Throws if it has none. */
export function existingOf({ existing }: SourceStage): ExistingSession {
  if (!existing) throw new Error('The stage has no existing session.')
  return existing
}

/** Returns the stage's prompts. Throws if it takes none. */
export function promptsOf({ prompts }: SourceStage): StagePrompts {
  if (!prompts) throw new Error('The stage takes no prompts.')
  return prompts
}

/** The prompts that a stage may lack. */
type OptionalPrompt = Exclude<keyof StagePrompts, 'plain' | 'endless'>

/** Returns a check whether a stage has the prompt. */
export function hasPrompt(kind: OptionalPrompt): (stage: SourceStage) => boolean {
  return ({ prompts }) => prompts?.[kind] !== undefined
}

/** Returns the text of this prompt. Throws if the stage lacks it. */
export function promptOf(stage: SourceStage, kind: OptionalPrompt): string {
  const text = promptsOf(stage)[kind]
  if (text === undefined) throw new Error(`The stage has no prompt "${kind}".`)
  return text
}

/** Whether the stage takes prompts. */
export const takesPrompts = (stage: SourceStage): boolean => stage.prompts !== undefined

/** Resolves with the error that the call was rejected with, or with undefined if it resolved. Never rejects. */
export async function rejection(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => undefined,
    (error: unknown) => error,
  )
}

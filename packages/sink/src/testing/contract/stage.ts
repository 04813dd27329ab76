import { type Clock, systemClock } from '@reply/core'
import type { Demand as AnyDemand } from '@reply/core/testing'
import type { Actor } from '../../port/actor.ts'
import type { Attachment, Bubble, ChannelPort, Chat, MessageRef, Render } from '../../port/port.ts'
import { PortError } from '../../port/port-error.ts'

/** A message as a person in the chat sees it. */
export interface SeenMessage {
  /** The platform's id, as in `MessageRef.id`. */
  readonly id: string
  /** The readable text, markup already applied. */
  readonly text: string
  /** Whether it was posted without a notification. */
  readonly isSilent: boolean
  /** Rows of buttons, from the top. Empty if it has none. */
  readonly buttons: readonly (readonly { readonly label: string; readonly data: string }[])[]
  /** The id of the message that it replies to. */
  readonly replyTo?: string | undefined
  /** The name of the attached file. Absent for a picture, on platforms that show none. */
  readonly fileName?: string | undefined
  /** The content of the attached file. */
  readonly fileText?: string | undefined
  /** Whether the app shows the file as a picture. */
  readonly isPicture?: boolean | undefined
  /** The names of all files, on platforms where a message may have several. */
  readonly fileNames?: readonly string[] | undefined
}

/**
 * How the fake platform fails the next call.
 *
 * - `rate-limited`: refuses it with `Stage.limitMs` to wait.
 * - `refused`: refuses it permanently.
 * - `unreachable`: the call does not arrive.
 * - `unanswered`: executes it, but the response is lost.
 * - `unparsable`: refuses its markup.
 * - `fixed`: the message can no longer be edited.
 * - `undelivered`: accepts it, and later reports that the message can't be delivered.
 */
export type StageFault =
  | 'rate-limited'
  | 'refused'
  | 'unreachable'
  | 'unanswered'
  | 'unparsable'
  | 'fixed'
  | 'undelivered'

/** The clock of a stage. */
export interface Timed {
  /** The clock of the channel and its platform. Default: the system's. */
  readonly clock?: Clock | undefined
  /** Advances the clock. Default: waits in real time. */
  pass?(ms: number): Promise<void>
}

/** A port on its fake platform, with an empty chat. */
export interface Stage extends Timed {
  /** The port to test. */
  readonly port: ChannelPort
  /** The channel's renderer. */
  readonly render: Render
  /** The chat that the port writes in. */
  readonly chat: Chat
  /** The messages in the chat, oldest first, without the person's own. */
  screen(): readonly SeenMessage[]
  /** The faults that the platform supports. */
  readonly faults: readonly StageFault[]
  /** Makes the next call to the platform fail, except for typing. */
  failNext(fault: StageFault): void
  /**
   * The wait of `rate-limited`, in ms: the one that the platform states, or that its documentation names if it states none. Needed with
   * that fault. Choose another one than 1,000, which a `PortError` without a wait has.
   */
  readonly limitMs?: number | undefined
  /** Posts a message as a person. Undefined if the channel cannot reply to messages. */
  writeText?(text: string): MessageRef
  /** Removes a message that the port posted, as a person would. */
  deleteMessage(id: string): void
  /** How many messages notified. */
  notifications(): number
  /** For platforms with mentions: a person, and a function that returns the ids of the people that a message mentions. */
  readonly mentions?: { readonly actor: Actor; in(messageID: string): readonly string[] } | undefined
  /** Strings that no error may contain, for example tokens, keys, and URLs that contain them. */
  readonly secrets?: readonly string[] | undefined
  /** Stops the fake platform. Called at the end of each clause. */
  close(): Promise<void>
}

/** One clause of the contract of ports. */
export type Demand = AnyDemand<Stage>

/** Throws an error with the message unless the condition holds. */
export function must(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message)
}

/** Throws unless the error is a rate limit with the wait of the stage, rounded up to a second at most. */
export function mustBeLimited({ limitMs }: Stage, { type, retryAfterMs = 0 }: PortError): void {
  must(type === 'rate-limited', `The error type is ${type}.`)
  must(
    limitMs !== undefined && limitMs !== 1000,
    `\`limitMs\` of the stage is ${limitMs}. It must be a wait other than 1,000.`,
  )
  const isStated = retryAfterMs >= limitMs && retryAfterMs < limitMs + 1000
  must(isStated, `The reported wait is ${retryAfterMs} ms instead of ${limitMs}.`)
}

/** Renders a text as the sink would post it. */
export function bubbleOf({ render }: Stage, source: string, buttons: Bubble['buttons'] = []): Bubble {
  return { ...render(source), source, isPlain: false, buttons }
}

/** Returns a text as a file to post. */
export function textFile(name: string, text: string, caption: string): Attachment {
  return { name, mime: 'text/plain', bytes: new TextEncoder().encode(text), caption }
}

/** Whether the texts are equal except for white space, in which platforms differ. */
export function readsAs(text: string | undefined, expected: string): boolean {
  return text !== undefined && text.replace(/\s+/g, ' ').trim() === expected.replace(/\s+/g, ' ').trim()
}

/** Returns the texts of the messages in the chat, oldest first. */
export function textsOn(stage: Stage): readonly string[] {
  return stage.screen().map(({ text }) => text)
}

let keys = 0

export interface Posting {
  readonly silent?: boolean
  readonly replyTo?: MessageRef
  readonly key?: string
  readonly buttons?: Bubble['buttons']
}

/** Posts a text through the stage's port. Silent and with a new key by default. */
export async function post(stage: Stage, source: string, posting: Posting = {}): Promise<MessageRef> {
  const { silent = true, replyTo, key = `contract-${++keys}`, buttons } = posting
  const { signal } = new AbortController()
  return await stage.port.post(bubbleOf(stage, source, buttons), { chat: stage.chat, silent, replyTo, key, signal })
}

/** Edits a message through the stage's port. Rejects if the port can't. */
export async function edit(stage: Stage, ref: MessageRef, source: string): Promise<void> {
  must(stage.port.edit !== undefined, 'The port has no `edit`.')
  await stage.port.edit(ref, bubbleOf(stage, source), { chat: stage.chat, signal: new AbortController().signal })
}

/** Removes a message through the stage's port. Rejects if the port can't. */
export async function remove(stage: Stage, ref: MessageRef): Promise<void> {
  must(stage.port.remove !== undefined, 'The port has no `remove`.')
  await stage.port.remove(ref, { chat: stage.chat, signal: new AbortController().signal })
}

/** Resolves with the error of a failed call. Throws if the call succeeded or rejected with anything but a `PortError`. */
export async function failureOf(call: Promise<unknown>): Promise<PortError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  must(error !== undefined, 'The call should have failed but succeeded.')
  must(error instanceof PortError, `The call failed with something other than a PortError: ${String(error)}`)
  return error
}

/** Waits for a condition by the stage's clock. Throws with `message` after `withinMs`. */
export async function until(
  { clock = systemClock, pass }: Timed,
  {
    isDone,
    withinMs,
    message,
  }: { readonly isDone: () => boolean; readonly withinMs: number; readonly message: string },
): Promise<void> {
  const wait = pass ?? ((ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve)))
  const end = clock.now() + withinMs
  while (!isDone()) {
    must(clock.now() <= end, message)
    await wait(pass ? 250 : 20)
  }
}

/**
 * Resolves or rejects as a call that may wait for time to pass. Advances the stage's clock meanwhile. Rejects if the call
 * takes more than 60 s of that clock.
 */
export async function settledInStageTime<T>(timed: Timed, call: Promise<T>): Promise<T> {
  let isOver = false
  const over = (): void => {
    isOver = true
  }
  call.then(over, over)
  await until(timed, { isDone: () => isOver, withinMs: 60_000, message: 'The call did not end within 60 s.' })
  return await call
}

import { type Clock, systemClock } from '@reply/core'
import { type Bubble, type ChannelPort, type Chat, type MessageRef, PortError, type Render } from '../port.ts'

/** A message as a person in the chat sees it. */
export interface SeenMessage {
  readonly id: string
  /** What is to be read, markup already applied. */
  readonly text: string
  readonly isSilent: boolean
  readonly buttons: readonly (readonly { readonly label: string; readonly data: string }[])[]
  /** The id of the message that it answers. */
  readonly replyTo?: string | undefined
  /** The name of the file that it carries. */
  readonly fileName?: string | undefined
  /** What a person who opens the file reads. */
  readonly fileText?: string | undefined
}

/**
 * What the fake platform does to the next call.
 *
 * - `rate-limited`: it is refused for its rate, with a time to wait.
 * - `refused`: it is refused for good.
 * - `unreachable`: it does not arrive.
 * - `unanswered`: it is done, and then nobody says so.
 * - `unparsable`: its markup is refused.
 * - `fixed`: the message cannot be edited any more.
 */
export type StageFault = 'rate-limited' | 'refused' | 'unreachable' | 'unanswered' | 'unparsable' | 'fixed'

/** A port on its fake platform, with an empty chat. */
export interface Stage {
  readonly port: ChannelPort
  readonly render: Render
  readonly chat: Chat
  /** By which the port and its platform go. Default: the system's. */
  readonly clock?: Clock | undefined
  /** Lets so much time pass. Default: it is waited for. */
  pass?(ms: number): Promise<void>
  /** What is in the chat, the oldest first, without the person's own messages. */
  screen(): readonly SeenMessage[]
  /** The faults that the platform can be asked for. */
  readonly faults: readonly StageFault[]
  /** The next call to the platform, typing left aside, goes wrong. */
  failNext(fault: StageFault): void
  /** A person writes something. Undefined where nothing can be answered. */
  say?(text: string): MessageRef
  /** A person removes a message of ours. */
  deleteMessage(id: string): void
  /** How many messages rang. */
  notifications(): number
  /** What no error may say: tokens, keys, URLs with them. */
  readonly secrets?: readonly string[] | undefined
  close(): Promise<void>
}

/** One thing that every port does. */
export interface Demand {
  readonly name: string
  /** Whether the port claims it at all. Default: always. A port that does not has to skip it. */
  readonly needs?: ((stage: Stage) => boolean) | undefined
  readonly run: (stage: Stage) => Promise<void>
}

export function must(holds: boolean, words: string): asserts holds {
  if (!holds) throw new Error(words)
}

/** A text as it is posted, in the platform's dialect. */
export function bubbleOf({ render }: Stage, source: string, buttons: Bubble['buttons'] = []): Bubble {
  return { ...render(source), source, isPlain: false, buttons }
}

/** Whether what a person reads is that text, white space left aside: platforms differ in it. */
export function reads(text: string | undefined, words: string): boolean {
  return text !== undefined && text.replace(/\s+/g, ' ').trim() === words.replace(/\s+/g, ' ').trim()
}

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

export async function post(stage: Stage, source: string, posting: Posting = {}): Promise<MessageRef> {
  const { silent = true, replyTo, key = `contract-${++keys}`, buttons } = posting
  const { signal } = new AbortController()
  return await stage.port.post(bubbleOf(stage, source, buttons), { chat: stage.chat, silent, replyTo, key, signal })
}

export async function edit(stage: Stage, ref: MessageRef, source: string): Promise<void> {
  must(stage.port.edit !== undefined, 'It has no edit.')
  await stage.port.edit(ref, bubbleOf(stage, source), { chat: stage.chat, signal: new AbortController().signal })
}

export async function remove(stage: Stage, ref: MessageRef): Promise<void> {
  must(stage.port.remove !== undefined, 'It has no remove.')
  await stage.port.remove(ref, { chat: stage.chat, signal: new AbortController().signal })
}

/** How a call failed. Throws when it did not, or not in the port's own words. */
export async function failureOf(call: Promise<unknown>): Promise<PortError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  must(error !== undefined, 'It should have failed, and did not.')
  must(error instanceof PortError, `It failed with something else than a PortError: ${String(error)}`)
  return error
}

/** Waits for something, in the stage's own time. */
export async function until(
  { clock = systemClock, pass }: Stage,
  { isDone, withinMs, words }: { readonly isDone: () => boolean; readonly withinMs: number; readonly words: string },
): Promise<void> {
  const wait = pass ?? ((ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve)))
  const end = clock.now() + withinMs
  while (!isDone()) {
    must(clock.now() <= end, words)
    await wait(pass ? 250 : 20)
  }
}

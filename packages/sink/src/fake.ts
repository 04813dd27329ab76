import type { Clock } from '@reply/core'
import type { Limits } from './limits.ts'
import {
  type Attachment,
  type Bubble,
  type ChannelPort,
  type Chat,
  type MessageRef,
  PortError,
  type PortErrorType,
  type PostOptions,
  type Render,
} from './port.ts'

/** What goes wrong with one call, counted from 1 over all verbs but typing. */
export interface FakeFault {
  readonly call: number
  /** An error without the call being done; `done`: it is done, and then nobody says so; `deleted`: a person removes the newest message first. */
  readonly type: PortErrorType | 'done' | 'deleted'
  readonly retryAfterMs?: number | undefined
}

export interface FakeOptions {
  readonly clock: Clock
  /** Over those of a chat that edits, a message a second, 400 units each. */
  readonly limits?: Partial<Limits> | undefined
  readonly faults?: readonly FakeFault[] | undefined
  /** Verbs that it does without. */
  readonly lacks?: readonly ('edit' | 'remove' | 'upload' | 'typing' | 'stream')[] | undefined
}

/** A message as a person sees it. */
export interface FakeMessage {
  readonly id: string
  readonly chat: Chat
  readonly text: string
  readonly buttons: Bubble['buttons']
  readonly replyTo?: string | undefined
  readonly isSilent: boolean
  readonly edits: number
  readonly file?: Attachment | undefined
}

/** A chat in memory that keeps to its limits: for tests of sinks, and an example of a port. */
export interface Fake {
  readonly port: ChannelPort
  /** What can be seen now, oldest first. */
  screen(): readonly FakeMessage[]
  /** All that was ever posted, as it was last. */
  readonly posted: readonly FakeMessage[]
  /** What is previewed below it. */
  preview(): string | undefined
  isTyping(): boolean
  /** How many messages rang. */
  readonly notifications: number
  /** Every call in order, typing included: the verb and how it ended. */
  readonly calls: readonly { readonly at: number; readonly verb: string; readonly result: 'done' | PortErrorType }[]
  /** A person removes a message. */
  remove(id: string): void
}

export const fakeLimits: Limits = {
  maxLength: 400,
  edits: true,
  editIntervalMs: 1000,
  perChat: { calls: 5, perMs: 5000 },
  typingMs: 5000,
  buttons: { perRow: 3, rows: 8, label: 40, data: 64 },
  idempotent: false,
}

/** Markdown as it is: what is measured is what is written. */
export const fakeRender: Render = (source) => ({ text: source, plain: source, length: source.length })

export function createFake({ clock, limits: given = {}, faults = [], lacks = [] }: FakeOptions): Fake {
  const limits = { ...fakeLimits, ...given }
  const messages: FakeMessage[] = []
  const removed = new Set<string>()
  const postedAt = new Map<string, number>()
  const byKey = new Map<string, MessageRef>()
  const calls: { at: number; verb: string; result: 'done' | PortErrorType }[] = []
  let times: number[] = []
  let [count, notifications, typingUntil, frozenUntil] = [0, 0, 0, 0]
  let preview: { text: string; until: number } | undefined
  const port: ChannelPort = {
    limits,
    post: (bubble, options) => call('post', () => post(bubble, options)),
    ...(has('edit') && { edit: (ref, bubble) => call('edit', () => edit(ref, bubble)) }),
    ...(has('remove') && { remove: (ref) => call('remove', () => void removed.add(ref.id)) }),
    ...(has('upload') && {
      upload: (file, options) => call('upload', () => post({ text: file.caption, buttons: [] }, options, file)),
    }),
    ...(has('typing') && { typing }),
    ...(has('stream') && {
      stream: { kind: 'preview', renewMs: 20_000, write: (bubble) => call('preview', () => show(bubble)) },
    }),
  }
  return {
    port,
    screen: () => messages.filter(({ id }) => !removed.has(id)),
    posted: messages,
    preview: () => (preview && clock.now() < preview.until ? preview.text : undefined),
    isTyping: () => clock.now() < typingUntil,
    get notifications() {
      return notifications
    },
    calls,
    remove: (id) => void removed.add(id),
  }

  function has(verb: NonNullable<FakeOptions['lacks']>[number]): boolean {
    return !lacks.includes(verb)
  }

  async function typing(on: boolean): Promise<void> {
    calls.push({ at: clock.now(), verb: 'typing', result: 'done' })
    typingUntil = on ? clock.now() + (limits.typingMs ?? 0) : 0
  }

  function show({ text }: Bubble): void {
    preview = { text, until: clock.now() + 30_000 }
  }

  async function call<T>(verb: string, act: () => T): Promise<T> {
    count += 1
    const fault = faults.find((one) => one.call === count)
    const at = clock.now()
    try {
      await Promise.resolve()
      spend(at)
      if (fault?.type === 'deleted') deleteNewest()
      else if (fault && fault.type !== 'done') throw asked(fault)
      const value = act()
      if (fault?.type === 'done') throw new PortError('ambiguous', 'It was done, and nobody said so.')
      calls.push({ at, verb, result: 'done' })
      return value
    } catch (error) {
      if (error instanceof PortError) calls.push({ at, verb, result: error.type })
      throw error
    }
  }

  function asked({ type, retryAfterMs = 2000 }: FakeFault): PortError {
    const limited = type === 'rate-limited'
    if (limited) frozenUntil = clock.now() + retryAfterMs
    const kind = type === 'done' || type === 'deleted' ? 'ambiguous' : type
    return new PortError(kind, `It was asked to fail: ${type}.`, limited ? { retryAfterMs } : {})
  }

  function spend(at: number): void {
    times = times.filter((time) => time > at - limits.perChat.perMs)
    const free = (times[0] ?? at) + limits.perChat.perMs
    const until = Math.max(frozenUntil, times.length >= limits.perChat.calls ? free : 0)
    if (at < until) throw new PortError('rate-limited', 'Too many calls.', { retryAfterMs: until - at })
    times.push(at)
  }

  function deleteNewest(): void {
    const newest = messages.findLast(({ id }) => !removed.has(id))
    if (newest) removed.add(newest.id)
  }

  function post(bubble: Pick<Bubble, 'text' | 'buttons'>, options: PostOptions, file?: Attachment): MessageRef {
    const known = limits.idempotent ? byKey.get(options.key) : undefined
    if (known) return known
    fits(bubble)
    const id = String(messages.length + 1)
    const { chat, replyTo, silent } = options
    messages.push({
      id,
      chat,
      text: bubble.text,
      buttons: bubble.buttons,
      replyTo: replyTo?.id,
      isSilent: silent,
      edits: 0,
      file,
    })
    if (!silent) notifications += 1
    preview = undefined
    postedAt.set(id, clock.now())
    byKey.set(options.key, { id })
    return { id }
  }

  function edit({ id }: MessageRef, bubble: Bubble): void {
    const at = messages.findIndex((message) => message.id === id)
    const message = messages[at]
    if (!message || removed.has(id)) throw new PortError('gone', 'There is no such message.')
    if (clock.now() - (postedAt.get(id) ?? 0) > (limits.editWindowMs ?? Number.POSITIVE_INFINITY))
      throw new PortError('fixed', 'It is too old to be edited.')
    fits(bubble)
    messages[at] = { ...message, text: bubble.text, buttons: bubble.buttons, edits: message.edits + 1 }
  }

  function fits({ text, buttons }: Pick<Bubble, 'text' | 'buttons'>): void {
    if (text.trim() === '') throw new PortError('refused', 'An empty message.')
    if (text.length > limits.maxLength) throw new PortError('too-long', `${text.length} units are too many.`)
    const { buttons: most } = limits
    if (buttons.length > (most?.rows ?? 0) || buttons.some((row) => row.length > (most?.perRow ?? 0)))
      throw new PortError('refused', 'Too many buttons.')
  }
}

import { type Budget, defaultFileLimits, requireFileSize } from '../port/limits.ts'
import type {
  AppendStream,
  Attachment,
  Bubble,
  ChannelPort,
  Chat,
  LookedUp,
  MessageRef,
  PostOptions,
  PostReport,
  PostReports,
  PreviewStream,
  Render,
  StreamPiece,
  Task,
} from '../port/port.ts'
import { PortError, type PortErrorType } from '../port/port-error.ts'
import { type FakeFault, type FakeOptions, fakeLimits, withMentions } from './fake-options.ts'

/** A message as a person sees it. */
export interface FakeMessage {
  /** `1`, `2`, … in the order of posting. */
  readonly id: string
  /** The chat that it was posted in. */
  readonly chat: Chat
  /** The bubble's text in its latest version, or the caption of a file. */
  readonly text: string
  /** Rows of buttons, from the top. Empty if it has none. */
  readonly buttons: Bubble['buttons']
  /** The id of the message that it replies to. */
  readonly replyTo?: string | undefined
  /** Whether it was posted without a notification. */
  readonly isSilent: boolean
  /** How many edits were applied. */
  readonly edits: number
  /** The uploaded files. Empty for a text. */
  readonly files: readonly Attachment[]
  /** When its stream expires, in ms since the epoch. Undefined if it is not an open stream. */
  readonly openUntil?: number | undefined
  /** The latest tasks of its stream. */
  readonly tasks?: readonly Task[] | undefined
}

/** An in-memory chat that enforces its limits. Use it to test sinks, and as an example of a port. */
export interface Fake {
  /** Pass it to `createSink`. */
  readonly port: ChannelPort
  /** The visible messages, oldest first. */
  screen(): readonly FakeMessage[]
  /** Every message that was ever posted, in its latest version. */
  readonly posted: readonly FakeMessage[]
  /** The text of the current preview. Undefined if there is none or it has expired. */
  preview(): string | undefined
  /** Whether the chat shows a typing notice now. */
  isTyping(): boolean
  /** How many posts notified. */
  readonly notifications: number
  /** Every call in order, including `typing`: its time in ms, the verb and the result. */
  readonly calls: readonly { readonly at: number; readonly verb: string; readonly result: 'done' | PortErrorType }[]
  /** Removes a message as a person would. */
  remove(id: string): void
  /**
   * With the option `reports`: closes or opens the chat. While it is closed, posts are accepted and then reported as
   * `chat-closed`.
   */
  setOpen(isOpen: boolean): void
}

interface FakePost extends PostOptions {
  readonly fault?: FakeFault['type'] | undefined
}

/** Renders Markdown unchanged. The length is that of the source. */
export const fakeRender: Render = (source) => ({ text: source, plain: source, length: source.length })

/** Creates an empty chat. Its port enforces the limits, records each call, and fails as the options say. */
export function createFake(options: FakeOptions): Fake {
  const { clock, limits: given = {}, faults = [], lacks = [], stream, lookUp } = options
  const limits = { ...fakeLimits, ...given }
  const messages: FakeMessage[] = []
  const removed = new Set<string>()
  const postedAt = new Map<string, number>()
  const byKey = new Map<string, MessageRef>()
  const calls: { at: number; verb: string; result: 'done' | PortErrorType }[] = []
  let times: number[] = []
  let count = 0
  let notifications = 0
  let typingUntil = 0
  let frozenUntil = 0
  let preview: { text: string; until: number } | undefined
  const reportsByKey = new Map<string, PostReport[]>()
  const listeners = new Set<() => void>()
  let takesPosts = true
  let isClosed = false
  const reports: PostReports = {
    of: (key) => reportsByKey.get(key) ?? [],
    isClosed: () => isClosed,
    withinMs: () => 10_000,
    observe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const previewing: PreviewStream = {
    kind: 'preview',
    renewMs: 20_000,
    write: (bubble) => makeCall('preview', () => showPreview(bubble)),
  }
  const adding: AppendStream = {
    kind: 'append',
    maxMs: 240_000,
    maxLength: 300,
    measure: (text) => text.length,
    open: (piece, options) => makeCall('open', () => openStream(piece, options)),
    append: (ref, piece) => makeCall('append', () => appendToStream(ref, piece, true)),
    close: (ref, piece) => makeCall('close', () => appendToStream(ref, piece, false)),
  }
  const port: ChannelPort = {
    limits,
    post: (bubble, posting) => makeCall('post', (fault) => post(withMentions(bubble), { ...posting, fault })),
    ...(hasMethod('edit') && { edit: (ref, bubble) => makeCall('edit', () => edit(ref, withMentions(bubble))) }),
    ...(hasMethod('remove') && { remove: (ref) => makeCall('remove', () => void removed.add(ref.id)) }),
    ...(hasMethod('upload') && {
      upload: (file, posting) =>
        makeCall('upload', (fault) => post({ text: file.caption, buttons: [] }, { ...posting, fault }, [file])),
      uploadAlbum: (files, posting) =>
        makeCall('uploadAlbum', (fault) =>
          post({ text: files.map(({ caption }) => caption).join('\n'), buttons: [] }, { ...posting, fault }, files),
        ),
    }),
    ...(options.reports && { reports }),
    ...(lookUp && { lookUp: ({ key }) => makeCall('lookUp', () => lookUpKey(key)) }),
    ...(hasMethod('typing') && { typing }),
    ...(hasMethod('stream') && { stream: stream === 'append' ? adding : previewing }),
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
    setOpen: (isOpen) => {
      takesPosts = isOpen
      if (isOpen) isClosed = false
      notifyListeners()
    },
  }

  /** Calls every listener to delivery reports. */
  function notifyListeners(): void {
    for (const listener of [...listeners]) listener()
  }

  /** Makes the delivery report of a post, once the call has ended. */
  function reportSoon(key: string, ref: MessageRef, fault: FakeFault['type'] | undefined): void {
    const error = new PortError('refused', 'Injected fault: undelivered.')
    const type: PostReport['type'] = !takesPosts ? 'chat-closed' : fault === 'undelivered' ? 'failed' : 'there'
    if (type !== 'there') removed.add(ref.id)
    queueMicrotask(() => {
      reportsByKey.set(key, [
        ...(reportsByKey.get(key) ?? []),
        type === 'failed' ? { type, ref, error } : { type, ref },
      ])
      if (type === 'chat-closed') isClosed = true
      notifyListeners()
    })
  }

  /** Whether the options let the port have this method. */
  function hasMethod(verb: NonNullable<FakeOptions['lacks']>[number]): boolean {
    return !lacks.includes(verb)
  }

  /** Shows or hides the typing notice. Never fails, and doesn't count against the budget. */
  async function typing(on: boolean): Promise<void> {
    calls.push({ at: clock.now(), verb: 'typing', result: 'done' })
    typingUntil = on ? clock.now() + (limits.typingMs ?? 0) : 0
  }

  /** Answers `lookUp` as the options say. */
  function lookUpKey(key: string): LookedUp {
    if (lookUp === 'probe') return { type: 'unknown' }
    const ref = byKey.get(key)
    return ref && !removed.has(ref.id) ? { type: 'there', ref } : { type: 'absent' }
  }

  /** Shows the text as the preview for 30 s. */
  function showPreview({ text }: Bubble): void {
    preview = { text, until: clock.now() + 30_000 }
  }

  /** Runs `act` as one counted call: within the budget, with the fault of this call, and recorded in `calls`. */
  async function makeCall<T>(verb: string, act: (fault: FakeFault['type'] | undefined) => T): Promise<T> {
    count += 1
    const fault = faults.find((one) => one.call === count)
    const at = clock.now()
    try {
      await Promise.resolve()
      spendBudget(at)
      if (fault?.type === 'deleted') deleteNewest()
      else if (fault && fault.type !== 'done' && fault.type !== 'undelivered') throw injectFault(fault)
      const value = act(fault?.type)
      if (fault?.type === 'done') throw new PortError('ambiguous', 'The call took effect, but its response was lost.')
      calls.push({ at, verb, result: 'done' })
      return value
    } catch (error) {
      if (error instanceof PortError) calls.push({ at, verb, result: error.type })
      throw error
    }
  }

  /**
   * Returns the error of a fault, which is `ambiguous` for `done`, `deleted` and `undelivered`. `fixed` also closes all
   * streams, and `rate-limited` pauses the chat.
   */
  function injectFault({ type, retryAfterMs = 2000 }: FakeFault): PortError {
    const limited = type === 'rate-limited'
    if (type === 'fixed')
      for (const message of messages) changeMessage(message, (one) => ({ ...one, openUntil: undefined }))
    if (limited) frozenUntil = clock.now() + retryAfterMs
    const kind = type === 'done' || type === 'deleted' || type === 'undelivered' ? 'ambiguous' : type
    return new PortError(kind, `Injected fault: ${type}.`, limited ? { retryAfterMs } : {})
  }

  /** Counts a call. Throws `rate-limited` if the budget is used up or the chat is paused. */
  function spendBudget(now: number): void {
    times = times.filter((time) => time > now - limits.perChat.perMs)
    const until = Math.max(frozenUntil, ...[limits.perChat, ...(limits.burst ? [limits.burst] : [])].map(freeAt))
    if (now < until) throw new PortError('rate-limited', 'Too many calls.', { retryAfterMs: until - now })
    times.push(now)
  }

  /** Returns when the oldest call that fills the budget no longer counts. */
  function freeAt({ calls, perMs }: Budget): number {
    const oldest = times.at(-calls)
    return oldest === undefined ? 0 : oldest + perMs
  }

  /** Removes the newest message, as a person would. */
  function deleteNewest(): void {
    const newest = messages.findLast(({ id }) => !removed.has(id))
    if (newest) removed.add(newest.id)
  }

  /**
   * Adds a message, which ends the preview and the typing notice. With idempotency, returns the existing message of a
   * key that is still remembered. Throws as `mustFit` does.
   */
  function post(
    bubble: Pick<Bubble, 'text' | 'buttons'>,
    posting: FakePost,
    files: readonly Attachment[] = [],
  ): MessageRef {
    const known = limits.idempotent ? byKey.get(posting.key) : undefined
    if (known && clock.now() - (known.postedAt ?? 0) <= (limits.keyMs ?? Number.POSITIVE_INFINITY)) return known
    mustFit(bubble)
    mustTake(files)
    const id = String(messages.length + 1)
    const { chat, replyTo, silent, key, fault } = posting
    messages.push({
      id,
      chat,
      text: bubble.text,
      buttons: bubble.buttons,
      replyTo: replyTo?.id,
      isSilent: silent,
      edits: 0,
      files,
    })
    if (!silent) notifications += 1
    preview = undefined
    // As on all platforms: see `typingMs` in each channel's limits.
    typingUntil = 0
    postedAt.set(id, clock.now())
    const ref = { id, postedAt: clock.now() }
    byKey.set(key, ref)
    if (options.reports) reportSoon(key, ref, fault)
    return ref
  }

  /**
   * Edits a message. Throws `gone` for a missing one, `fixed` for an old one, `refused` for an open stream, or as
   * `mustFit`.
   */
  function edit({ id }: MessageRef, bubble: Bubble): void {
    const at = messages.findIndex((message) => message.id === id)
    const message = messages[at]
    if (!message || removed.has(id)) throw new PortError('gone', 'No such message.')
    if (clock.now() - (postedAt.get(id) ?? 0) > (limits.editWindowMs ?? Number.POSITIVE_INFINITY))
      throw new PortError('fixed', 'The message is too old to be edited.')
    if (isOpen(message)) throw new PortError('refused', 'The message is an open stream.')
    mustFit(bubble)
    messages[at] = { ...message, text: bubble.text, buttons: bubble.buttons, edits: message.edits + 1 }
  }

  /** Posts a message that stays open for 5 minutes. */
  function openStream({ text, tasks }: StreamPiece, posting: PostOptions): MessageRef {
    const ref = post({ text, buttons: [] }, posting)
    changeMessage(ref, (message) => ({ ...message, tasks, openUntil: clock.now() + 300_000 }))
    return ref
  }

  /** Adds text and tasks to an open stream, and closes it unless `staysOpen`. Throws `gone`, `fixed` or `too-long`. */
  function appendToStream(ref: MessageRef, { text, tasks }: StreamPiece, staysOpen: boolean): void {
    const message = messages.find(({ id }) => id === ref.id)
    if (!message || removed.has(ref.id)) throw new PortError('gone', 'No such message.')
    if (!isOpen(message)) throw new PortError('fixed', 'The message is not an open stream.')
    const whole = message.text + text
    mustFit({ text: whole, buttons: [] })
    if (whole.length > adding.maxLength) throw new PortError('too-long', `${whole.length} UTF-16 units are too many.`)
    const reported = [...(message.tasks ?? []).filter(({ id }) => !tasks.some((task) => task.id === id)), ...tasks]
    changeMessage(ref, (one) => ({
      ...one,
      text: whole,
      tasks: reported,
      openUntil: staysOpen ? one.openUntil : undefined,
    }))
  }

  /** Whether the message is a stream that has neither been closed nor expired. */
  function isOpen({ openUntil }: FakeMessage): boolean {
    return openUntil !== undefined && clock.now() < openUntil
  }

  /** Replaces the message by what `to` returns for it. Does nothing for an unknown id. */
  function changeMessage({ id }: Pick<FakeMessage, 'id'>, to: (message: FakeMessage) => FakeMessage): void {
    for (const [at, message] of messages.entries()) if (message.id === id) messages[at] = to(message)
  }

  /** Throws a `FileRefusal` for a file that is too large or empty, and `refused` for too many files. */
  function mustTake(files: readonly Attachment[]): void {
    const given = limits.files ?? defaultFileLimits
    for (const file of files) requireFileSize(file, given)
    const { maxBytes, perPost = 1, postBytes = maxBytes } = given
    const sizes = files.map(({ bytes }) => bytes.length)
    if (files.length > perPost || sizes.reduce((sum, size) => sum + size, 0) > postBytes)
      throw new PortError('refused', 'Too many files, or too many bytes in all.')
  }

  /** Throws `refused` for a blank text, half of a surrogate pair or too many buttons, and `too-long` for a long text. */
  function mustFit({ text, buttons }: Pick<Bubble, 'text' | 'buttons'>): void {
    if (text.trim() === '') throw new PortError('refused', 'The message is empty.')
    const isBroken = [text, ...buttons.flat().map(({ label }) => label)].some((one) => /\p{Surrogate}/u.test(one))
    if (isBroken) throw new PortError('refused', 'The text has half of a surrogate pair.')
    if (text.length > limits.maxLength) throw new PortError('too-long', `${text.length} UTF-16 units are too many.`)
    const { buttons: most } = limits
    if (buttons.length > (most?.rows ?? 0) || buttons.some((row) => row.length > (most?.perRow ?? 0)))
      throw new PortError('refused', 'Too many buttons.')
  }
}

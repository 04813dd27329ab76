import type { Change, ChangeOf, ChangeType } from '../../change.ts'
import type { Reduction } from '../../reduce/reduce.ts'
import { emptyReply } from '../../reduce/shape.ts'
import type { Reply } from '../../reply.ts'
import { isShownText, outputOf, partsOf } from '../../select.ts'
import { diff } from '../../track/diff.ts'
import type { LiveReply } from '../replies.ts'
import { createChangeQueue } from './change-queue.ts'

/**
 * One live reply. Reading it and waiting for it are independent: the reply continues without an iterator, and `break`
 * stops nothing. Each iterator reads at its own speed and ends with the same reply: one that starts late or falls far
 * behind gets a diff to the newest state instead of each change.
 */
export interface ReplyStream extends AsyncIterable<Change> {
  /** The settled reply. Never rejects: a failure is an outcome. */
  readonly result: Promise<Reply>
  /** The newest state; undefined until the session is known. */
  readonly reply: Reply | undefined
  /** Whether the session was busy and the prompt joined the running reply. Undefined until that is known. */
  readonly joined: boolean | undefined
  /**
   * The answer's text in pieces, for callers that need only the text. Joined, they are `textOf` of the reply, unless the
   * server removed or replaced a text that was already read: then its replacement follows after a blank line. Begins with
   * the text so far, and ends with the reply.
   */
  readonly text: AsyncIterable<string>
  /**
   * The value that `PromptInput.format` asked for, parsed; undefined if the run gave none. Settles with `result`, and
   * never rejects.
   */
  readonly output: Promise<unknown>
  /**
   * Ends the run, even one that others began and this prompt joined: see `Client.abort`. Resolves with the settled
   * reply. Once the reply has settled, it ends nothing, so a newer run of the session continues; only a run that could
   * not be stopped is aborted again. Before the prompt was posted, it prevents the post. A `noReply` prompt that was
   * posted stays, and nothing else ends.
   */
  abort(): Promise<Reply>
  /**
   * Ends all iterators after the changes available now. The run continues; its observers and `result` receive its end.
   */
  leave(): void
  /** Iterates over these types of change only. */
  filter<T extends ChangeType>(types: readonly T[]): AsyncIterable<ChangeOf<T>>
  /** The same changes as a web stream; canceling it does not stop the reply. */
  toReadableStream(): ReadableStream<Change>
}

export interface StreamSource {
  readonly stream: ReplyStream
  /** The reply is known: readers start to receive it. */
  attach(live: LiveReply, joined: boolean): void
  /** No live reply will be attached; this settled one takes its place. */
  show(step: Reduction, joined: boolean): void
}

export function createReplyStream(options: { readonly abort: () => Promise<void> }): StreamSource {
  let reply: Reply | undefined
  let joined: boolean | undefined
  let settled = false
  let hasLeft = false
  /** The state when the stream was left. */
  let left: Reply | undefined
  const queues = new Set<ReturnType<typeof createChangeQueue>>()
  let settle: (reply: Reply) => void = () => {}
  const result = new Promise<Reply>((resolve) => {
    settle = resolve
  })
  const stream: ReplyStream = {
    result,
    get reply() {
      return reply
    },
    get joined() {
      return joined
    },
    text: { [Symbol.asyncIterator]: iterateText },
    output: result.then(outputOf),
    abort: async () => {
      await options.abort()
      return await result
    },
    leave,
    filter,
    toReadableStream,
    [Symbol.asyncIterator]: iterate,
  }
  return { stream, attach, show }

  function attach(live: LiveReply, isJoined: boolean): void {
    joined = isJoined
    reply = live.reply()
    const missed = { reply, changes: diff(emptyReply(reply.sessionID), reply) }
    if (!hasLeft) for (const queue of queues) queue.push(missed)
    const stop = live.follow((step) => {
      notify(step)
      if (settled) stop()
    })
    if (reply.phase === 'settled') {
      stop()
      notify({ reply, changes: [] })
    }
  }

  function show(step: Reduction, isJoined: boolean): void {
    joined ??= isJoined
    notify(step)
  }

  function notify(step: Reduction): void {
    if (settled) return
    reply = step.reply
    if (!hasLeft) for (const queue of queues) queue.push(step)
    if (reply.phase !== 'settled') return
    settled = true
    for (const queue of queues) queue.end()
    settle(reply)
  }

  function leave(): void {
    hasLeft = true
    left = reply
    for (const queue of queues) queue.end()
  }

  function iterate(): AsyncIterableIterator<Change, undefined> {
    return iterateOver((change): change is Change => change !== undefined)
  }

  function iterateText(): AsyncIterableIterator<string, undefined> {
    const pieceOf = createTextPieces()
    let isClosed = false
    const changes = filter(['partAdded', 'partChanged', 'partFinalized', 'partRemoved', 'replySettled'])
    const iterator: AsyncIterableIterator<string, undefined> = {
      next: async () => {
        for (;;) {
          const { done } = await changes.next()
          // The newest state, which may be ahead of the change.
          const newest = left ?? reply
          const piece = newest ? pieceOf(newest) : ''
          if (isClosed || (done && piece === '')) return { done: true, value: undefined }
          if (piece !== '') return { done: false, value: piece }
        }
      },
      return: async () => {
        isClosed = true
        await changes.return?.()
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => iterator,
    }
    return iterator
  }

  function filter<T extends ChangeType>(types: readonly T[]): AsyncIterableIterator<ChangeOf<T>, undefined> {
    const wanted: ReadonlySet<ChangeType> = new Set(types)
    return iterateOver((change): change is ChangeOf<T> => wanted.has(change.type))
  }

  /** Not a generator: one that waits for its next value can't be closed before that arrives. */
  function iterateOver<C extends Change>(
    isWanted: (change: Change) => change is C,
  ): AsyncIterableIterator<C, undefined> {
    let queue: ReturnType<typeof createChangeQueue> | undefined
    const open = (): ReturnType<typeof createChangeQueue> => {
      const opened = createChangeQueue({ sessionID: reply?.sessionID ?? '', reply })
      if (settled || hasLeft) opened.end()
      else queues.add(opened)
      return opened
    }
    const iterator: AsyncIterableIterator<C, undefined> = {
      next: async () => {
        queue ??= open()
        for (let change = await queue.take(); change; change = await queue.take()) {
          if (isWanted(change)) return { done: false, value: change }
        }
        queues.delete(queue)
        return { done: true, value: undefined }
      },
      return: async () => {
        queue ??= open()
        queues.delete(queue)
        queue.close()
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => iterator,
    }
    return iterator
  }

  function toReadableStream(): ReadableStream<Change> {
    const iterator = iterate()
    return new ReadableStream<Change>({
      pull: async (controller) => {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: async () => {
        await iterator.return?.()
      },
    })
  }
}

/**
 * Returns what a newer state of a reply adds to the text so far. Parts are separated by a blank line, and one follows
 * another once that is closed. White space at the end of an open part waits: the server may trim it. What was said stays
 * said: a text that the server replaces follows anew.
 */
export function createTextPieces(): (reply: Reply) => string {
  const said = new Map<string, string>()
  const closed = new Set<string>()
  return (reply) => {
    let piece = ''
    for (const part of partsOf(reply)) {
      const key = `${part.messageID} ${part.id}`
      if (closed.has(key) || !isShownText(part)) continue
      const isOpen = part.status === 'open'
      const text = isOpen ? part.text.trimEnd() : part.text
      const before = said.get(key)
      const separator = said.size === 0 ? '' : '\n\n'
      if (before === undefined) piece += separator + text
      else if (text.startsWith(before)) piece += text.slice(before.length)
      else if (!before.startsWith(text)) piece += separator + text
      said.set(key, text)
      if (isOpen) return piece
      closed.add(key)
    }
    return piece
  }
}

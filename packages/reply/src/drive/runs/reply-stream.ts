import type { Change, ChangeOf, ChangeType } from '../../change.ts'
import type { Reduction } from '../../reduce/reduce.ts'
import { emptyReply } from '../../reduce/shape.ts'
import type { Reply } from '../../reply.ts'
import { isShownText, outputOf, partsOf } from '../../select.ts'
import { diff } from '../../track/diff.ts'
import type { LiveReply } from '../replies.ts'
import { createChangeQueue } from './change-queue.ts'

/**
 * One live reply. You don't have to iterate over it: the reply continues without an iterator, and `break` doesn't stop
 * it. Each iterator reads at its own speed, and all end with the same reply. An iterator that starts late or falls far
 * behind gets a diff to the newest state instead of each change. For example `for await (const piece of stream.text)
 * process.stdout.write(piece)`.
 */
export interface ReplyStream extends AsyncIterable<Change> {
  /** Resolves with the settled reply. Never rejects, because a failure is an outcome. */
  readonly result: Promise<Reply>
  /** The newest state. Undefined until the session is known. */
  readonly reply: Reply | undefined
  /** Whether the session was busy and the prompt joined its running reply. Undefined until that is known. */
  readonly joined: boolean | undefined
  /**
   * The answer's text in pieces, from the beginning of the reply to its end. Joined, they equal `textOf` of the reply.
   * The exception is a text that you already read and that the server then removed or replaced: its replacement follows
   * after a blank line.
   */
  readonly text: AsyncIterable<string>
  /**
   * Resolves with the parsed value that `PromptInput.format` asked for, or with undefined if the run gave none. Settles
   * with `result` and never rejects.
   */
  readonly output: Promise<unknown>
  /**
   * Ends the run, even if others began it and this prompt joined (see `Client.abort`). Resolves with the settled reply.
   * Before the prompt was posted, it prevents the post. Once the reply has settled, it does nothing, so a newer run of
   * the session continues. Only a run that could not be stopped is aborted again. A `noReply` prompt that was posted
   * stays, and nothing else ends.
   */
  abort(): Promise<Reply>
  /**
   * Ends all iterators after the changes that are available now. The run continues, and its observers and `result`
   * receive its end.
   */
  leave(): void
  /** Iterates over changes of these types only, for example `stream.filter(['partAdded', 'replySettled'])`. */
  filter<T extends ChangeType>(types: readonly T[]): AsyncIterable<ChangeOf<T>>
  /** Returns the same changes as a web stream. Canceling it doesn't stop the reply. */
  toReadableStream(): ReadableStream<Change>
}

/** A stream with the functions that feed it. */
export interface StreamSource {
  readonly stream: ReplyStream
  /**
   * Emits the reply so far to all iterators as one diff, then each of its steps until it settles. After `detach`, the
   * diff begins with what was emitted before.
   */
  attach(live: LiveReply, joined: boolean): void
  /** Emits no more of the attached reply, not even the present step. `joined` is unknown again. */
  detach(): void
  /** Emits a step of a reply that isn't live, such as a stand-in. A settled one ends the stream. */
  emitStep(step: Reduction, joined: boolean): void
}

/** Creates a stream that emits nothing yet. `abort` ends the run, or prevents it. */
export function createReplyStream(abort: () => Promise<void>): StreamSource {
  let reply: Reply | undefined
  let joined: boolean | undefined
  let settled = false
  let hasLeft = false
  /** The state when the stream was left. */
  let left: Reply | undefined
  let stopFollowing = (): void => {}
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
      await abort()
      return await result
    },
    leave,
    filter,
    toReadableStream,
    [Symbol.asyncIterator]: iterate,
  }
  return { stream, attach, detach, emitStep }

  /**
   * Sets `reply` and `joined`. Emits the reply so far to all iterators as one diff, then each of its steps until it
   * settles. A reply that has settled ends the stream.
   */
  function attach(live: LiveReply, isJoined: boolean): void {
    joined = isJoined
    const before = reply ?? emptyReply(live.sessionID)
    reply = live.reply()
    const missed = { reply, changes: diff(before, reply) }
    if (!hasLeft) for (const queue of queues) queue.push(missed)
    let isFollowing = true
    const stop = live.follow((step) => {
      if (isFollowing) emit(step)
      if (settled) stop()
    })
    stopFollowing = () => {
      isFollowing = false
      stop()
    }
    if (reply.phase === 'settled') {
      stop()
      emit({ reply, changes: [] })
    }
  }

  /** Stops following the attached reply within the step that is being emitted. Keeps the state before it. */
  function detach(): void {
    stopFollowing()
    joined = undefined
  }

  /** Emits a step of a reply that isn't live, such as a stand-in. Keeps a `joined` that is known. */
  function emitStep(step: Reduction, isJoined: boolean): void {
    joined ??= isJoined
    emit(reply ? { ...step, changes: diff(reply, step.reply) } : step)
  }

  /**
   * Updates `stream.reply` and queues the step for all iterators. A settled reply ends them and resolves `result`, and
   * later steps are ignored.
   */
  function emit(step: Reduction): void {
    if (settled) return
    reply = step.reply
    if (!hasLeft) for (const queue of queues) queue.push(step)
    if (reply.phase !== 'settled') return
    settled = true
    for (const queue of queues) queue.end()
    settle(reply)
  }

  /**
   * Ends all iterators after the changes that are queued. Later steps still update `reply` and `result`, and `text`
   * ends with the state of now.
   */
  function leave(): void {
    hasLeft = true
    left = reply
    for (const queue of queues) queue.end()
  }

  /** Returns an iterator over all changes. */
  function iterate(): AsyncIterableIterator<Change, undefined> {
    return iterateOver((change): change is Change => change !== undefined)
  }

  /**
   * Returns an iterator over `stream.text`. It ends with the reply, or when the stream is left. `return` also ends a
   * call of `next` that waits.
   */
  function iterateText(): AsyncIterableIterator<string, undefined> {
    const pieceOf = createTextPieces()
    let isClosed = false
    const changes = filter(['partAdded', 'partChanged', 'partFinalized', 'partRemoved', 'replySettled'])
    const iterator: AsyncIterableIterator<string, undefined> = {
      next: async () => {
        for (;;) {
          const { done } = await changes.next()
          // The newest state. It may be ahead of the change.
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

  /** Returns an iterator over the changes of these types. */
  function filter<T extends ChangeType>(types: readonly T[]): AsyncIterableIterator<ChangeOf<T>, undefined> {
    const wanted: ReadonlySet<ChangeType> = new Set(types)
    return iterateOver((change): change is ChangeOf<T> => wanted.has(change.type))
  }

  /**
   * Returns an iterator over the wanted changes. Its queue opens with the first call of `next`, with a diff of the
   * reply so far. `return` also ends a call of `next` that waits. Not a generator, because one that waits for its next
   * value can't be closed until that arrives.
   */
  function iterateOver<C extends Change>(
    isWanted: (change: Change) => change is C,
  ): AsyncIterableIterator<C, undefined> {
    let queue: ReturnType<typeof createChangeQueue> | undefined
    /** Creates this iterator's queue. It has ended already if the reply has settled or the stream was left. */
    const open = (): ReturnType<typeof createChangeQueue> => {
      const opened = createChangeQueue(reply?.sessionID ?? '', reply)
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

  /** Returns all changes as a web stream. Canceling it closes its iterator, not the reply. */
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
 * Returns a function that gets newer and newer states of a reply and returns the text that each adds. A blank line
 * separates parts, and a part is emitted once the one before it is closed. White space at the end of an open part is
 * held back, because the server may trim it. Emitted text can't be taken back, so a replaced text is emitted anew, and
 * one that only got shorter adds nothing.
 */
export function createTextPieces(): (reply: Reply) => string {
  const emitted = new Map<string, string>()
  const closed = new Set<string>()
  return (reply) => {
    let piece = ''
    for (const part of partsOf(reply)) {
      const key = `${part.messageID} ${part.id}`
      if (closed.has(key) || !isShownText(part)) continue
      const isOpen = part.status === 'open'
      const text = isOpen ? part.text.trimEnd() : part.text
      const before = emitted.get(key)
      const separator = emitted.size === 0 ? '' : '\n\n'
      if (before === undefined) piece += separator + text
      else if (text.startsWith(before)) piece += text.slice(before.length)
      else if (!before.startsWith(text)) piece += separator + text
      emitted.set(key, text)
      if (isOpen) return piece
      closed.add(key)
    }
    return piece
  }
}

import type { Change, ChangeOf, ChangeType } from '../change.ts'
import type { ReplyStream } from '../drive/runs/reply-stream.ts'
import type { Reply } from '../reply.ts'
import { createThoughtReader } from './reader.ts'
import type { Thought, ThoughtOf, ThoughtType } from './thought.ts'

/**
 * The events of one turn, and its result. The result settles even if you never iterate, and `break` stops nothing. Each
 * iterator gets all events from the beginning, at its own speed, and ends with the turn. A slow iterator gets adjacent
 * pieces of text as one. Once 1,024 changes wait for it, it gets the difference to the newest state instead.
 */
export interface ThoughtStream<T extends Thought = Thought, Result = Reply> extends AsyncIterable<T> {
  /** Settles with the turn. A rejection that you don't await isn't reported as unhandled. */
  readonly result: Promise<Result>
  /** The same events as a web stream. Canceling it doesn't stop the turn. */
  toReadableStream(): ReadableStream<T>
}

/** Selects the types of events. */
export interface ThoughtOptions<T extends ThoughtType = ThoughtType> {
  /** Only these types of events. Default: all. */
  readonly include?: readonly T[] | undefined
}

/** Returns a run's changes as thoughts. Its `result` is that of the run, and never rejects. */
export function thoughtsOf<T extends ThoughtType = ThoughtType>(
  run: ReplyStream,
  options: ThoughtOptions<T> = {},
): ThoughtStream<ThoughtOf<T>> {
  return createThoughtStream(async () => run, run.result, options)
}

const types: readonly ChangeType[] = [
  'partAdded',
  'partChanged',
  'partFinalized',
  'partRemoved',
  'toolProgressed',
  'todosChanged',
  'replySettled',
]

/**
 * Creates the stream of thoughts of a run that may begin later, which each iterator asks `begin` for. If `begin`
 * rejects, its iterators end without a thought. `include` selects the types of thoughts. Default: all.
 */
export function createThoughtStream<T extends ThoughtType, Result>(
  begin: () => Promise<ReplyStream>,
  result: Promise<Result>,
  { include }: ThoughtOptions<T>,
): ThoughtStream<ThoughtOf<T>, Result> {
  const wanted: ReadonlySet<ThoughtType> | undefined = include && new Set(include)
  // A result that nothing awaits may reject.
  result.catch(() => {})
  return { result, toReadableStream, [Symbol.asyncIterator]: iterate }

  function isWanted(thought: Thought): thought is ThoughtOf<T> {
    return wanted === undefined || wanted.has(thought.type)
  }

  /**
   * Iterates from the beginning over the wanted thoughts, and ends with the run. `return` ends it, even while `next`
   * waits for an event. Not a generator: one that waits for its next value can't be closed before that arrives.
   */
  function iterate(): AsyncIterableIterator<ThoughtOf<T>, undefined> {
    const read = createThoughtReader()
    let pending: ThoughtOf<T>[] = []
    let changes: AsyncIterator<Change> | undefined
    let isClosed = false
    let previous: Promise<unknown> = Promise.resolve()
    /** Resolves with the next wanted thought. Done at the end of the run, and once `return` was called. */
    const next = async (): Promise<IteratorResult<ThoughtOf<T>, undefined>> => {
      changes ??= await openChanges()
      for (;;) {
        const thought = pending.shift()
        if (isClosed) break
        if (thought) return { done: false, value: thought }
        const change = await changes?.next()
        if (!change || change.done) break
        pending = read(change.value).filter(isWanted)
      }
      return { done: true, value: undefined }
    }
    const iterator: AsyncIterableIterator<ThoughtOf<T>, undefined> = {
      // One after the other, so that calls that overlap get the events in order.
      next: () => {
        const result = previous.then(next)
        previous = result
        return result
      },
      return: async () => {
        isClosed = true
        await changes?.return?.()
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => iterator,
    }
    return iterator
  }

  /** The changes of the run from its beginning. Undefined if it could not begin. */
  async function openChanges(): Promise<AsyncIterator<ChangeOf<ChangeType>> | undefined> {
    const run = await begin().catch(() => undefined)
    return run?.filter(types)[Symbol.asyncIterator]()
  }

  function toReadableStream(): ReadableStream<ThoughtOf<T>> {
    const iterator = iterate()
    return new ReadableStream<ThoughtOf<T>>({
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

import mitt from 'mitt'
import type { Change, ChangeOf, ChangeType } from './change.ts'
import { type OnError, ReplyError } from './error.ts'
import type { Observation, Observe, ReplyObserver } from './observer.ts'
import type { Reduction } from './reduce/reduce.ts'
import type { Reply } from './reply.ts'
import { describeType } from './text/excerpt.ts'

/** Passes the changes of one reply to its observers. */
export interface Dispatcher {
  /**
   * Adds an observer, which receives all changes from now on. Returns a function that removes it. A value that can't be
   * an observer is reported and not added.
   */
  observe(observer: ReplyObserver): () => void
  /**
   * Calls the listener with each change of this type from now on, for example `on('replySettled', ({ reply }) => …)`.
   * As with observers, it is not awaited, and its errors go to `onError`. Returns a function that removes it.
   */
  on<T extends ChangeType>(type: T, listener: Observe<T>): () => void
  /** Passes each change to every observer, in order. Does not await them. */
  dispatch(step: Reduction): void
}

type Events = { [T in ChangeType]: Observation<ChangeOf<T>> }

/**
 * Creates a dispatcher. If an observer throws or rejects, the error goes to `onError` and the other observers continue.
 */
export function createDispatcher(options: { readonly onError?: OnError | undefined } = {}): Dispatcher {
  const emitter = mitt<Events>()
  let observers: readonly ReplyObserver[] = []
  return { observe, on, dispatch }

  /**
   * Adds an observer after the others. Returns a function that removes it. Reports a value that can't be an observer,
   * and adds nothing.
   */
  function observe(observer: ReplyObserver): () => void {
    if (!isObserver(observer)) {
      options.onError?.(notAnObserverError(observer))
      return () => {}
    }
    // Wrapped, so that stopping an observer that was added twice removes one copy at a time.
    const added = [observer]
    observers = [...observers, ...added]
    return () => {
      const at = added.length > 0 ? observers.indexOf(observer) : -1
      added.length = 0
      if (at !== -1) observers = observers.toSpliced(at, 1)
    }
  }

  /** Adds a listener, whose errors and rejections are reported. Returns a function that removes it. */
  function on<T extends ChangeType>(type: T, listener: Observe<T>): () => void {
    /** Calls the listener, and reports an error or a rejection instead of throwing. */
    const guarded = (observation: Events[T]): void => {
      try {
        reportRejection(listener(observation), type)
      } catch (cause) {
        reportFailure(cause, type)
      }
    }
    emitter.on(type, guarded)
    return () => emitter.off(type, guarded)
  }

  /** Calls the observers and listeners of each change, in order. Observers that are added meanwhile are not called. */
  function dispatch(step: Reduction): void {
    // An observer that is added during dispatch has already received the whole step.
    const present = observers
    for (const change of step.changes) {
      if (isObserved(present, change.type)) notifyObservers(present, change.type, observationOf(change, step))
    }
  }

  /** Whether an observer or listener receives this type of change. True if reading an observer throws. */
  function isObserved(present: readonly ReplyObserver[], type: ChangeType): boolean {
    try {
      for (const observer of present) if (observer[type]) return true
    } catch {
      // Even reading a method may throw. `notifyObservers` reads it again and reports the error.
      return true
    }
    return isListenedTo(type)
  }

  /** Calls the method of each observer, then the listeners. An error is reported and stops none of them. */
  function notifyObservers<T extends ChangeType>(
    present: readonly ReplyObserver[],
    type: T,
    observation: Events[T],
  ): void {
    for (const observer of present) {
      try {
        const methods: Methods = observer
        reportRejection(methods[type]?.(observation), type)
      } catch (cause) {
        reportFailure(cause, type)
      }
    }
    if (isListenedTo(type)) emitter.emit(type, observation)
  }

  /**
   * Whether a listener receives this type of change. mitt keeps an empty list when the last listener of a type is
   * removed.
   */
  function isListenedTo(type: ChangeType): boolean {
    return (emitter.all.get(type)?.length ?? 0) > 0
  }

  /** Reports a rejection of a result that is a promise. Doesn't await it. */
  function reportRejection(result: unknown, type: ChangeType): void {
    if (isPromise(result)) result.then(undefined, (cause: unknown) => reportFailure(cause, type))
  }

  /** Passes the error of an observer or listener to `onError` as `observer`. */
  function reportFailure(cause: unknown, type: ChangeType): void {
    const reason =
      cause instanceof Error
        ? cause.message
        : typeof cause === 'string'
          ? cause
          : 'it threw something other than an Error'
    options.onError?.(
      new ReplyError('observer', `An observer failed on ${type}: ${reason}. The reply continues without it.`, {
        cause,
      }),
    )
  }
}

/**
 * The change with the reply and the wire event. Uses a literal for the most frequent type, because copying takes longer
 * than the call of an observer.
 */
function observationOf(change: Change, { reply, raw }: Reduction): Observation {
  if (change.type !== 'partChanged') return Object.assign({ reply, raw }, change)
  return { type: 'partChanged', part: change.part, index: change.index, delta: change.delta, reply, raw }
}

/** Whether the value may be an observer. JavaScript callers may pass anything. */
export function isObserver(value: unknown): value is ReplyObserver {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

/** Creates the error for a value that was passed in place of an observer. It names the value's type. */
export function notAnObserverError(value: unknown): ReplyError {
  const message = `${describeType(value)} is not an observer and was ignored. Pass an object with methods named after change types, for example partChanged.`
  return new ReplyError('observer', message)
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** `ReplyObserver` in the form in which TypeScript relates each method to its change. */
type Methods = { readonly [T in ChangeType]?: (observation: Observation<ChangeOf<T>>) => unknown }

type ObserversFor = (reply: Reply) => readonly ReplyObserver[]

/**
 * Calls `observe` for a reply's observers. Returns an empty list without `observe`, or if it returns nothing. Does so
 * too if it throws or returns something other than a list, and reports that. Drops and reports values that aren't
 * observers.
 */
export function observersOf(
  observe: ObserversFor | undefined,
  reply: Reply,
  onError: OnError,
): readonly ReplyObserver[] {
  try {
    return [...(observe?.(reply) ?? [])].filter((observer) => {
      if (!isObserver(observer)) onError(notAnObserverError(observer))
      return isObserver(observer)
    })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    onError(
      new ReplyError('observer', `"observe" failed: ${reason}. The reply continues without its observers.`, { cause }),
    )
    return []
  }
}

import mitt from 'mitt'
import type { Change, ChangeOf, ChangeType } from './change.ts'
import { type OnError, ReplyError } from './error.ts'
import { kindOf } from './excerpt.ts'
import type { Observation, ReplyObserver } from './observer.ts'
import type { Step } from './reduce.ts'

export interface Dispatcher {
  /** Adds an observer; it hears of what comes from now on. Returns the stop. */
  observe(observer: ReplyObserver): () => void
  /** Listens to one type of change. Returns the stop. */
  on<T extends ChangeType>(type: T, listener: (observation: Observation<ChangeOf<T>>) => unknown): () => void
  /** Tells every observer of each change, in order; none of them is awaited. */
  dispatch(step: Step): void
}

type Events = { [T in ChangeType]: Observation<ChangeOf<T>> }

/** Hands changes to observers and keeps their failures to themselves: one that throws or rejects is reported, its neighbours go on. */
export function createDispatcher(options: { readonly onError?: OnError | undefined } = {}): Dispatcher {
  const emitter = mitt<Events>()
  let observers: readonly ReplyObserver[] = []
  return { observe, on, dispatch }

  function observe(observer: ReplyObserver): () => void {
    if (!isObserver(observer)) {
      options.onError?.(notAnObserver(observer))
      return () => {}
    }
    // A wrapper of its own, so that the same observer added twice is stopped one at a time.
    const added = [observer]
    observers = [...observers, ...added]
    return () => {
      const at = added.length > 0 ? observers.indexOf(observer) : -1
      added.length = 0
      if (at !== -1) observers = observers.toSpliced(at, 1)
    }
  }

  function on<T extends ChangeType>(type: T, listener: (observation: Events[T]) => unknown): () => void {
    const guarded = (observation: Events[T]): void => {
      try {
        follow(listener(observation), type)
      } catch (cause) {
        report(cause, type)
      }
    }
    emitter.on(type, guarded)
    return () => emitter.off(type, guarded)
  }

  function dispatch(step: Step): void {
    // Who is added by one of these observers has been told of the whole step already.
    const present = observers
    for (const change of step.changes) {
      if (isHeard(present, change.type)) tell(present, change.type, observationOf(change, step))
    }
  }

  function isHeard(present: readonly ReplyObserver[], type: ChangeType): boolean {
    try {
      for (const observer of present) if (observer[type]) return true
    } catch {
      // Even asking for a method may fail; `tell` asks again, and reports it.
      return true
    }
    return emitter.all.has(type)
  }

  function tell<T extends ChangeType>(present: readonly ReplyObserver[], type: T, observation: Events[T]): void {
    for (const observer of present) {
      try {
        follow(observer[type]?.(observation), type)
      } catch (cause) {
        report(cause, type)
      }
    }
    if (emitter.all.size > 0) emitter.emit(type, observation)
  }

  /** Nobody waits for a promise; that it was broken is told all the same. */
  function follow(result: unknown, type: ChangeType): void {
    if (isPromise(result)) result.then(undefined, (cause: unknown) => report(cause, type))
  }

  function report(cause: unknown, type: ChangeType): void {
    const words = cause instanceof Error ? cause.message : typeof cause === 'string' ? cause : 'not with an error'
    options.onError?.(
      new ReplyError('observer', `An observer failed at ${type}: ${words}. The reply goes on without it.`, { cause }),
    )
  }
}

/** One literal for the most frequent change; spreading costs more than the call. */
function observationOf(change: Change, { reply, raw }: Step): Observation {
  if (change.type !== 'partChanged') return { reply, raw, ...change }
  return { type: 'partChanged', part: change.part, index: change.index, delta: change.delta, reply, raw }
}

/** Whoever writes JavaScript may give anything. */
export function isObserver(value: unknown): value is ReplyObserver {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

export function notAnObserver(value: unknown): ReplyError {
  const words = `${kindOf(value)} is no observer and was left out; give an object with a method for each change.`
  return new ReplyError('observer', words)
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

import type { Answer, Ask, FileChange } from '@reply/core'
import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'

/** What the reader of a page may do, as far as the view is concerned. */
export interface ViewAccess {
  /** The name that is shown for the reader's answers. */
  readonly who?: string | undefined
  readonly mayAnswer: boolean
  readonly mayStop: boolean
  /** False once a link that allows a single time has done so. */
  readonly mayAllow: boolean
}

/** What a reader does. Each rejects with an error whose message is for people. */
export interface RunActions {
  readonly answer: (ask: Ask, answer: Answer) => Promise<void>
  readonly reject: (ask: Ask, message?: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/** What a page can read besides the run. Each rejects with an error whose message is for people. */
export interface RunSources {
  /** The bytes of a file of the reply. Without it, only files in the reply itself are shown. */
  readonly file?: ((fileID: string) => Promise<Uint8Array<ArrayBuffer>>) | undefined
  /** What the whole session changed. Without it, only what the run changed is shown. */
  readonly diff?: (() => Promise<readonly FileChange[]>) | undefined
}

/** What all rows of a view share. Its members stay the same while the view exists, so that rows need not be rendered again. */
export interface ViewContext {
  readonly isOpen: (key: string) => boolean
  readonly toggle: (key: string) => void
  /** What people chose or wrote in a row, kept while the row is out of view. */
  readonly kept: Map<string, unknown>
  readonly sources: () => RunSources
}

export const View = createContext<ViewContext>({
  isOpen: () => false,
  toggle: () => {},
  kept: new Map(),
  sources: () => ({}),
})

export function useView(): ViewContext {
  return useContext(View)
}

/** Like `useState`, and the value is there again if the row comes back into view. `is` tells whether a kept value is one of its own. */
export function useKept<T>(key: string, initial: T, is: (value: unknown) => value is T): [T, (value: T) => void] {
  const { kept } = useView()
  const before = kept.get(key)
  const [value, setValue] = useState<T>(is(before) ? before : initial)
  return [
    value,
    (next) => {
      kept.set(key, next)
      setValue(next)
    },
  ]
}

export const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean'
export const isText = (value: unknown): value is string => typeof value === 'string'

/** The moment that a view shows, in ms since the epoch. Undefined if that is now. */
export const Moment = createContext<number | undefined>(undefined)

/** The time of the view, in ms since the epoch. If that is now, it goes on each second while `isRunning`. */
export function useNow(isRunning: boolean): number {
  const moment = useContext(Moment)
  const [now, setNow] = useState(Date.now())
  const isLive = isRunning && moment === undefined
  useEffect(() => {
    if (!isLive) return
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [isLive])
  return moment ?? now
}

import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { type Key, keysOf } from './key.ts'

/** A stream to read keys from. `process.stdin` is one. */
export interface Input extends Readable {
  /** Whether it is a terminal. Default: it isn't. */
  readonly isTTY?: boolean
  /** Turns echo and line editing off or on. A terminal has it. */
  setRawMode?(on: boolean): unknown
}

/** Shares the keys. The first to request them has them until it leaves. */
export interface Keyboard {
  /**
   * Stops the terminal from echoing keys. Control-C calls `interrupt`. Returns a function that releases the keyboard, which
   * echoes again once all have.
   */
  enterRawMode(interrupt: () => void): () => void
  /** Queues for the keys. `onFocus` is called when it gets them. */
  focus(listener: { onKey: (key: Key) => void; onFocus: () => void }): Focus
}

/** A place in the queue for the keys. */
export interface Focus {
  /** Whether it is the first in the queue, which gets the keys. */
  hasKeys(): boolean
  /** Leaves the queue. If it had the keys, the next one gets them and its `onFocus` is called. */
  leave(): void
}

const keyboards = new WeakMap<Input, Keyboard>()

/** Returns one keyboard per stream: two readers would steal each other's keys. */
export function keyboardOf(stdin: Input): Keyboard {
  const known = keyboards.get(stdin)
  if (known) return known
  const keyboard = createKeyboard(stdin)
  keyboards.set(stdin, keyboard)
  return keyboard
}

interface KeyListener {
  readonly onKey: (key: Key) => void
  readonly onFocus: () => void
}

/** Creates the keyboard of a stream, which it reads only in raw mode. */
function createKeyboard(stdin: Input): Keyboard {
  const queue: KeyListener[] = []
  const holders = new Set<{ interrupt: () => void }>()
  let decoder = new StringDecoder('utf8')

  /**
   * Gives keys to the first listener in the queue, and calls every `interrupt` on Control-C. Drops keys without a listener.
   */
  function dispatchKeys(chunk: Buffer | string): void {
    const text = typeof chunk === 'string' ? chunk : decoder.write(chunk)
    for (const key of keysOf(text)) {
      if (key.type === 'interrupt') for (const { interrupt } of [...holders]) interrupt()
      else queue[0]?.onKey(key)
    }
  }

  return {
    enterRawMode(interrupt) {
      const holder = { interrupt }
      if (holders.size === 0) {
        decoder = new StringDecoder('utf8')
        stdin.setRawMode?.(true)
        stdin.on('data', dispatchKeys)
        stdin.resume()
      }
      holders.add(holder)
      return () => {
        if (!holders.delete(holder) || holders.size > 0) return
        stdin.off('data', dispatchKeys)
        stdin.pause()
        stdin.setRawMode?.(false)
      }
    },
    focus(listener) {
      queue.push(listener)
      if (queue[0] === listener) listener.onFocus()
      return {
        hasKeys: () => queue[0] === listener,
        leave() {
          const at = queue.indexOf(listener)
          if (at < 0) return
          queue.splice(at, 1)
          if (at === 0) queue[0]?.onFocus()
        },
      }
    },
  }
}

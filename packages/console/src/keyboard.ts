import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { type Key, keysOf } from './key.ts'

/** A stream to read keys from. `process.stdin` is one. */
export interface Input extends Readable {
  readonly isTTY?: boolean
  setRawMode?(on: boolean): unknown
}

/** Several may want the keys; the one that asked first has them until it lets go. */
export interface Keyboard {
  /** Keeps what is typed from the screen. Control-C goes to `interrupt`. Returns the undo. */
  hold(interrupt: () => void): () => void
  /** `onFocus` tells when it is this one's turn. Returns the undo. */
  focus(want: { onKey: (key: Key) => void; onFocus: () => void }): Focus
}

export interface Focus {
  has(): boolean
  leave(): void
}

const keyboards = new WeakMap<Input, Keyboard>()

/** One keyboard a stream: two readers would steal each other's keys. */
export function keyboardOf(stdin: Input): Keyboard {
  const known = keyboards.get(stdin)
  if (known) return known
  const keyboard = createKeyboard(stdin)
  keyboards.set(stdin, keyboard)
  return keyboard
}

interface Want {
  readonly onKey: (key: Key) => void
  readonly onFocus: () => void
}

function createKeyboard(stdin: Input): Keyboard {
  const wants: Want[] = []
  const holders = new Set<{ interrupt: () => void }>()
  let decoder = new StringDecoder('utf8')

  function read(chunk: Buffer | string): void {
    const text = typeof chunk === 'string' ? chunk : decoder.write(chunk)
    for (const key of keysOf(text)) {
      if (key.type === 'interrupt') for (const { interrupt } of [...holders]) interrupt()
      else wants[0]?.onKey(key)
    }
  }

  return {
    hold(interrupt) {
      const holder = { interrupt }
      if (holders.size === 0) {
        decoder = new StringDecoder('utf8')
        stdin.setRawMode?.(true)
        stdin.on('data', read)
        stdin.resume()
      }
      holders.add(holder)
      return () => {
        if (!holders.delete(holder) || holders.size > 0) return
        stdin.off('data', read)
        stdin.pause()
        stdin.setRawMode?.(false)
      }
    },
    focus(want) {
      wants.push(want)
      if (wants[0] === want) want.onFocus()
      return {
        has: () => wants[0] === want,
        leave() {
          const at = wants.indexOf(want)
          if (at < 0) return
          wants.splice(at, 1)
          if (at === 0) wants[0]?.onFocus()
        },
      }
    },
  }
}

import { Refusal } from '@reply/core/internal'

/** Lets each client do a few things at the same time. What is more waits for its turn. */
export interface Turns {
  /**
   * Resolves with a function that ends the turn, once it has come. Calling that again does nothing. Rejects with a `Refusal` if the
   * signal aborts first.
   */
  take(client: string, signal: AbortSignal): Promise<() => void>
}

interface Waiting {
  begin(): void
}

/** Creates turns: at most `atOnce` at the same time for each client. */
export function createTurns(atOnce: number): Turns {
  /** The clients with turns: how many they have, and what waits for one. */
  const clients = new Map<string, { open: number; readonly waiting: Set<Waiting> }>()
  return { take }

  async function take(client: string, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw givenUp()
    const own = clients.get(client) ?? { open: 0, waiting: new Set() }
    clients.set(client, own)
    if (own.open < atOnce) own.open += 1
    else
      await new Promise<void>((resolve, reject) => {
        const leave = (): void => {
          own.waiting.delete(one)
          reject(givenUp())
        }
        const one: Waiting = {
          begin: () => {
            signal.removeEventListener('abort', leave)
            resolve()
          },
        }
        own.waiting.add(one)
        signal.addEventListener('abort', leave, { once: true })
      })
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      const [next] = own.waiting
      if (next) {
        // It has the turn that ends here.
        own.waiting.delete(next)
        return next.begin()
      }
      own.open -= 1
      if (own.open === 0) clients.delete(client)
    }
  }
}

/** A refusal, so that it is not reported as an error. */
function givenUp(): Refusal {
  return new Refusal(503, 'The request was given up before it was its turn.')
}

/** How many bytes a client gets at a time. */
const pieceBytes = 64 * 1024

/** Returns the bytes as a stream. `onEnd` is called when the client has taken them all, or wants no more. */
export function streamOfBytes(
  bytes: Uint8Array<ArrayBuffer>,
  onEnd: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = 0
  return new ReadableStream(
    {
      pull: (controller) => {
        if (at < bytes.length) controller.enqueue(bytes.slice(at, at + pieceBytes))
        at += pieceBytes
        if (at < bytes.length) return
        controller.close()
        onEnd()
      },
      cancel: onEnd,
    },
    { highWaterMark: 0 },
  )
}

import type { Transport } from '../../src/acp/transport.ts'

/** An agent in memory, which says what a test wants. */
export interface Fake {
  readonly transport: Transport
  say(message: unknown): void
  /** Ends it. */
  die(how: string): void
}

export function createFake<T>(hear: (message: T, fake: Fake) => void): Fake {
  const waiting: unknown[] = []
  let isOver = false
  let wake = (): void => {}
  let end = (_how: string): void => {}
  const ended = new Promise<string>((resolve) => {
    end = resolve
  })
  const fake: Fake = {
    transport: {
      messages: messages(),
      send: async (message) => {
        if (isOver) throw new Error('It has ended.')
        const heard: T = JSON.parse(JSON.stringify(message))
        // As over a pipe, it hears it later.
        setImmediate(() => hear(heard, fake))
      },
      ended,
      close: async () => die('was ended by SIGTERM'),
    },
    say: (message) => {
      waiting.push(message)
      wake()
    },
    die,
  }
  return fake

  function die(how: string): void {
    isOver = true
    wake()
    end(how)
  }

  async function* messages(): AsyncIterable<unknown> {
    while (!isOver || waiting.length > 0) {
      if (waiting.length > 0) yield waiting.shift()
      else
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
  }
}

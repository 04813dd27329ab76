import { connect, createServer } from 'node:net'
import { TestingError } from './error.ts'

/** Resolves with a port of loopback that was free a moment ago. Another program may take it. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port)
        else reject(new TestingError('launch', 'No free port on 127.0.0.1: pass one as `port`.'))
      })
    })
  })

/** Resolves with whether something listens on a port of loopback. False if connecting fails for another reason. */
const isTaken = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const end = (isOpen: boolean): void => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })

/**
 * Starts something on a free port, and resolves with both. If another program takes that port first, tries another one,
 * up to five in all. Rejects with the error of `start` if the port isn't taken, or at the fifth.
 */
export const onFreePort = async <T>(
  start: (port: number) => Promise<T>,
  nextPort: () => Promise<number> = freePort,
): Promise<{ readonly port: number; readonly started: T }> => {
  for (let tries = 1; ; tries++) {
    const port = await nextPort()
    try {
      return { port, started: await start(port) }
    } catch (error) {
      if (tries === 5 || !(await isTaken(port))) throw error
    }
  }
}

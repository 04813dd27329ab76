import { createServer } from 'node:net'
import { TestingError } from './error.ts'

/** A free port on loopback. */
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

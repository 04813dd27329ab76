import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { onFreePort } from '../src/port.ts'

/** Fails like a server whose port is in use. */
const listen = async (port: number) => {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const portOf = (server: Awaited<ReturnType<typeof listen>>): number => {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : expect.fail()
}

test('a port that was taken in the meantime is exchanged for another', async () => {
  const other = await listen(0)
  const ports = [portOf(other), 0]
  const { started } = await onFreePort(listen, async () => ports.shift() ?? expect.fail())
  expect(portOf(started)).not.toBe(portOf(other))
  started.close()
  other.close()
})

test('a start that fails on a free port is not repeated', async () => {
  const tried: number[] = []
  const start = async (port: number) => {
    tried.push(port)
    throw new Error('No.')
  }
  await expect(onFreePort(start)).rejects.toThrow('No.')
  expect(tried).toHaveLength(1)
})

test('after five taken ports the failure is reported', async () => {
  const other = await listen(0)
  let tries = 0
  const failing = onFreePort(listen, async () => {
    tries++
    return portOf(other)
  })
  await expect(failing).rejects.toMatchObject({ code: 'EADDRINUSE' })
  expect(tries).toBe(5)
  other.close()
})

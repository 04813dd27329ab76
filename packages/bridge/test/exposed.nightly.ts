import { createServer, connect as dial, type Socket } from 'node:net'
import { sayText } from '@reply/testing'
import { expect, test, vi } from 'vitest'
import { startStage } from './stage.ts'

// All of 127.0.0.0/8 is this computer: this address stands for one that others can reach.
vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  networkInterfaces: () => ({
    eth0: [{ address: '127.0.0.2', internal: false }],
  }),
}))

test('no prompt goes to a server that others in the network came to reach after the start', async () => {
  const stage = await startStage({ scripts: { hello: { steps: [[sayText('Hello to you.')]] } } })
  await stage.start()
  const port = Number(new URL(stage.server.url).port)
  const sockets = new Set<Socket>()
  const door = createServer((socket) => {
    sockets.add(socket)
    const inner = dial({ host: '127.0.0.1', port })
    socket.on('error', () => inner.destroy()).pipe(inner)
    inner.on('error', () => socket.destroy()).pipe(socket)
  })
  await new Promise<void>((resolve) => door.listen(port, '127.0.0.2', resolve))
  try {
    stage.telegram.say(1, 'Is it open? [scenario:hello]')
    await stage.seen(1, (screen) => screen.some(({ text: said }) => said.includes('Anyone on the network can use')))
    expect(await stage.isAtRest()).toBe(true)
    expect(stage.said(1).join('\n')).not.toContain('Hello to you.')
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => door.close(resolve))
    stage.telegram.say(1, 'And now? [scenario:hello]')
    await stage.seen(1, (screen) => screen.some(({ text: said }) => said.includes('Hello to you.')))
  } finally {
    door.close()
    await stage.close()
  }
})

import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { createFakeBaileys, type FakeBaileys, type FakeSocket } from '@reply/testing/whatsapp'
import { boomStatusOf } from '../../whatsapp/src/error.ts'

/** A WhatsApp account that outlives the processes which are linked to it. */
export interface LinkedAccount {
  readonly account: FakeBaileys
  /** The environment with which a process uses this account in place of Baileys. */
  readonly env: Readonly<Record<string, string>>
  close(): Promise<void>
}

const hooks = new URL('./fixtures/baileys-hooks.mjs', import.meta.url).href

/** Starts an account. Each line of a connection is a JSON text: a call of the process, its result, or an event. */
export async function startLinkedAccount(): Promise<LinkedAccount> {
  const account = createFakeBaileys()
  const wires = new Set<Socket>()
  const server = createServer((wire) => {
    const socket = account.connect()
    const send = (line: object): void => void (wire.writable && wire.write(`${JSON.stringify(line)}\n`))
    let isOpen = true
    wires.add(wire)
    socket.ev.on('messages.upsert', (value) => send({ event: 'messages.upsert', value }))
    socket.ev.on('messages.update', (value) => send({ event: 'messages.update', value }))
    socket.ev.on('connection.update', ({ connection, lastDisconnect }) => {
      isOpen = connection === 'open'
      const value = { connection, ...(lastDisconnect && { error: failureOf(lastDisconnect.error) }) }
      // After the result of the call during which it closed.
      setImmediate(() => send({ event: 'connection.update', value }))
    })
    socket.ws.on('CB:ack,class:message', (ack) => send({ ack }))
    const lines = createInterface({ input: wire })
    // It passes on the errors of its input: a process that is killed resets its connection.
    lines.on('error', () => {})
    lines.on('line', async (line) => {
      const call: Call = JSON.parse(line, (_, value) => (value?.type === 'Buffer' ? Buffer.from(value.data) : value))
      try {
        send({ id: call.id, value: await callOf(socket, call) })
      } catch (error) {
        send({ id: call.id, error: failureOf(error) })
      }
    })
    wire.on('error', () => {})
    wire.on('close', () => {
      wires.delete(wire)
      // A socket that was replaced ends no other.
      if (isOpen) account.drop()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const loading = `import { register } from 'node:module'; register(${JSON.stringify(hooks)})`
  return {
    account,
    env: {
      BAILEYS_PORT: String(port),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(loading)}`,
    },
    close: async () => {
      for (const wire of wires) wire.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Call = { readonly id: number } & (
  | { readonly method: 'sendMessage'; readonly args: Parameters<FakeSocket['sendMessage']> }
  | { readonly method: 'sendPresenceUpdate'; readonly args: Parameters<FakeSocket['sendPresenceUpdate']> }
  | { readonly method: 'readMessages'; readonly args: Parameters<FakeSocket['readMessages']> }
)

async function callOf(socket: FakeSocket, { method, args }: Call): Promise<unknown> {
  if (method === 'sendMessage') return await socket.sendMessage(...args)
  return await (method === 'readMessages' ? socket.readMessages(...args) : socket.sendPresenceUpdate(...args))
}

/** What the other process makes an error of Boom from. */
function failureOf(error: unknown): { readonly message: string; readonly statusCode: number | undefined } {
  return { message: error instanceof Error ? error.message : String(error), statusCode: boomStatusOf(error) }
}

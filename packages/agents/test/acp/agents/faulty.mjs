// An agent in a process of its own that fails as its first argument says.
import { createInterface } from 'node:readline'

const [how = ''] = process.argv.slice(2)
const write = (text) => process.stdout.write(text)
const send = (message) => write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const say = (text) =>
  send({
    method: 'session/update',
    params: {
      sessionId: 's1',
      update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
    },
  })
const end = (id) => send({ id, result: { stopReason: 'end_turn' } })

const turns = {
  dies: () => {
    say('Half an ')
    process.exitCode = 3
    process.stdin.destroy()
  },
  killed: () => {
    say('Half an ')
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 50)
  },
  'half a line': () => {
    say('Well.')
    write('{"jsonrpc":"2.0","method":"session/upd')
    setTimeout(() => process.exit(0), 50)
  },
  'closes its output': () => {
    say('Well.')
    process.stdout.end()
    setInterval(() => {}, 1000)
  },
  garbage: (id) => {
    for (let at = 0; at < 1000; at++) write(`INFO line ${at}\n`)
    write('[1]\n"text"\n7\n{}\n\u0000\n')
    say('All is well.')
    end(id)
  },
  flood: async (id) => {
    const line = `${'x'.repeat(1 << 20)}\n`
    for (let at = 0; at < 150; at++) if (!write(line)) await new Promise((go) => process.stdout.once('drain', go))
    write(`${'y'.repeat(20 << 20)}\n`)
    say('All is well.')
    end(id)
  },
  late: (id) => {
    end(id)
    say('Too late.')
    end(id)
    send({
      id: 'p1',
      method: 'session/request_permission',
      params: { sessionId: 's1', toolCall: { toolCallId: 'c' }, options: [] },
    })
  },
  splits: (id) => {
    const message = JSON.stringify({
      jsonrpc: '2.0',
      method: 'session/update',
      params: {
        sessionId: 's1',
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Grüße 🙂' } },
      },
    })
    const bytes = Buffer.from(`${message}\n`)
    const next = (at) => {
      if (at >= bytes.length) return end(id)
      process.stdout.write(bytes.subarray(at, at + 7), () => setImmediate(next, at + 7))
    }
    next(0)
  },
}

if (how === 'refuses to start') {
  process.stderr.write('The token is secret-token.\n')
  process.exit(2)
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (method === 'initialize' && how !== 'silent') send({ id, result: { protocolVersion: 1 } })
  else if (method === 'session/new') send({ id, result: { sessionId: 's1' } })
  else if (method === 'session/prompt') turns[how](id)
})

// Claude Code in the terminal: its answer as it grows, its questions and permissions answered from the keyboard.
//   npx tsx examples/claude.ts "Why does the build fail?"

import { claude } from '@reply/agents/claude'
import { consoleSink } from '@reply/console'
import { connectSource } from '@reply/core/source'

const agent = connectSource(claude({ onError: (error) => console.error(error.message) }))
const sink = consoleSink({ client: agent })
const text = process.argv[2] ?? 'Why does the build fail?'

const stream = agent.prompt({ text }, { observe: () => [sink] })

process.once('SIGINT', () => void stream.abort())
const { outcome } = await stream.result
await sink.settled()
await agent.close()
process.exitCode = outcome === 'completed' ? 0 : 1

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { toolsOf } from '@reply/core'
import { expect, test } from 'vitest'
import { acp } from '../../src/acp.ts'
import { isAlive } from './is-alive.ts'

const program = fileURLToPath(new URL('./agents/terminal.mjs', import.meta.url))

test('a flood of 1 GB in a terminal of an agent in a process of its own is bounded, live and in the end', async () => {
  const agent = acp({ command: process.execPath, args: [program], terminals: true })
  const before = process.memoryUsage().rss
  let shown = 0
  const reply = await agent.prompt(
    { text: 'head -c 1000000000 /dev/zero | tr "\\0" x; echo end' },
    { observe: () => [{ toolProgressed: () => void shown++ }] },
  ).result
  await agent.close()
  const [call] = toolsOf(reply)
  expect([reply.outcome, call?.state.status]).toEqual(['completed', 'completed'])
  expect([call?.state.output?.length, call?.state.output?.endsWith('xend\n')]).toEqual([1_048_576, true])
  expect(shown).toBeGreaterThan(2)
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024)
})

test('the commands of terminals end when the host is killed', async () => {
  const source = fileURLToPath(new URL('../../src/acp.ts', import.meta.url))
  const code = `import { acp } from ${JSON.stringify(source)}
    const agent = acp({ command: process.execPath, args: [${JSON.stringify(program)}], terminals: true })
    const show = ({ part }) => {
      const { output = '' } = part.state.metadata ?? {}
      if (output.endsWith('\\n')) console.log(output)
    }
    void agent.prompt({ text: 'sleep 1000 & echo $$ $!; wait' }, { observe: () => [{ toolProgressed: show }] })`
  const options = ['--import', 'tsx', '--conditions=@reply/source', '--input-type=module']
  const host = spawn(process.execPath, [...options, '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(host.stdout, 'data')
  const pids = String(line).trim().split(' ').map(Number)
  expect(pids.map(isAlive)).toEqual([true, true])
  host.kill('SIGKILL')
  await expect.poll(() => pids.filter(isAlive), { timeout: 10_000 }).toEqual([])
})

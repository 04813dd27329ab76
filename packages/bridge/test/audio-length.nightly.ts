import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { agentBinary } from '@reply/testing/internal'
import { expect, test } from 'vitest'

const built = new URL('../dist/voice/audio-length.js', import.meta.url).href
const program = fileURLToPath(new URL('fixtures/audio-length.mjs', import.meta.url))

// Node 22.0 to 22.9 has no condition `module-sync`, which the others of these have.
test.each(['20.19.0', '22.0.0', '22.9.0', '24.0.0'])('the length of audio is known on Node %s', async (version) => {
  const node = await agentBinary('node', version)
  const { stdout } = await promisify(execFile)(node, [program, built])
  expect(stdout.trim()).toBe('60')
})

// Records `opencode acp` against the scripted model: `npx tsx packages/acp/scripts/record.ts [names]`.
import { mkdir, writeFile } from 'node:fs/promises'
import { redact } from '@reply/testing'
import { launch } from '../test/launch.ts'
import { play } from '../test/play.ts'
import { scenes } from '../test/scenes.ts'

const folder = new URL('../recordings/opencode-1.18.33/', import.meta.url)
const names = process.argv.slice(2)
await mkdir(folder, { recursive: true })
for (const scene of scenes) {
  if (names.length > 0 && !names.includes(scene.name)) continue
  const lines: string[] = []
  const stage = await launch(scene, (from, json) => lines.push(JSON.stringify({ from, message: JSON.parse(json) })))
  const reply = await play(stage.client, scene)
  const { directory, home, root, modelPort } = stage
  await stage.close()
  const text = redact(lines.join('\n'), { directory, home, root, serverPort: 4096, modelPort })
  if (!scene.preset) await writeFile(new URL(`${scene.name}.jsonl`, folder), `${text}\n`)
  process.stdout.write(`${scene.name}: ${lines.length} messages, ${reply.outcome}\n`)
}

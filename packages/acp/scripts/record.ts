// Records `opencode acp` against the scripted model: `npx tsx packages/acp/scripts/record.ts [names]`.
import { mkdir, writeFile } from 'node:fs/promises'
import { redact } from '@reply/testing'
import { launchGemini } from '../test/gemini-stage.ts'
import { launch } from '../test/launch.ts'
import { play } from '../test/play.ts'
import { geminiScenes, type Scene, scenes } from '../test/scenes.ts'

const names = process.argv.slice(2)

/** Plays one scene and stores what both sides said. */
async function record(folder: string, scene: Scene, open: typeof launchGemini): Promise<void> {
  const lines: string[] = []
  const stage = await open(scene.scenario, (from, json) => {
    lines.push(JSON.stringify({ from, message: JSON.parse(json) }))
  })
  const reply = await play(stage.client, scene)
  const { directory, home, root, modelPort } = stage
  await stage.close()
  const text = redact(lines.join('\n'), { directory, home, root, serverPort: 4096, modelPort })
  const target = new URL(`../recordings/${folder}/`, import.meta.url)
  await mkdir(target, { recursive: true })
  if (!scene.preset) await writeFile(new URL(`${scene.name}.jsonl`, target), `${text}\n`)
  process.stdout.write(`${folder} ${scene.name}: ${lines.length} messages, ${reply.outcome}\n`)
}

for (const scene of scenes) {
  if (names.length > 0 && !names.includes(scene.name)) continue
  await record('opencode-1.18.33', scene, (_, onMessage) => launch(scene, onMessage))
}
for (const scene of geminiScenes) {
  if (names.length > 0 && !names.includes(`gemini-${scene.name}`)) continue
  await record('gemini-0.61.0', scene, launchGemini)
}

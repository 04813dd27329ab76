// Records agents that speak ACP against the scripted model: `npx tsx packages/agents/scripts/record-acp.ts [names]`.
import { mkdir, writeFile } from 'node:fs/promises'
import { redact } from '@reply/testing/internal'
import { launchClaude, launchCodex } from '../test/acp/adapter-stage.ts'
import { launchGemini } from '../test/acp/gemini-stage.ts'
import { launch } from '../test/acp/launch.ts'
import { play } from '../test/acp/play.ts'
import { claudeScenes, codexScenes, geminiScenes, type Scene, scenes } from '../test/acp/scenes.ts'

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
    // Claude Code names folders after the user's id and the project's path.
    .replaceAll(directory.replaceAll('/', '-'), '-project')
    .replace(/\/tmp\/claude-\d+/g, '/tmp/claude')
  const target = new URL(`../recordings/acp/${folder}/`, import.meta.url)
  await mkdir(target, { recursive: true })
  if (!scene.preset) await writeFile(new URL(`${scene.name}.jsonl`, target), `${text}\n`)
  process.stdout.write(`${folder} ${scene.name}: ${lines.length} messages, ${reply.outcome}\n`)
}

for (const scene of scenes) {
  if (names.length > 0 && !names.includes(scene.name)) continue
  await record('opencode-1.18.33', scene, (_, onMessage) => launch(scene, onMessage))
}
const others = [
  ['gemini', 'gemini-0.61.0', geminiScenes, launchGemini],
  ['claude', 'claude-agent-acp-0.101.0', claudeScenes, launchClaude],
  ['codex', 'codex-acp-2.6.0', codexScenes, launchCodex],
] as const
for (const [agent, folder, played, open] of others)
  for (const scene of played) {
    if (names.length > 0 && !names.includes(`${agent}-${scene.name}`)) continue
    await record(folder, scene, open)
  }

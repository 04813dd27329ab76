// Records OpenCode's servers that send files with `reply-tools`: `npx tsx packages/tools/scripts/record.ts`.
import { writeFile } from 'node:fs/promises'
import { playSendFile, versions } from '../test/send-file-server.ts'

for (const version of versions) {
  const { frames, reply } = await playSendFile(version)
  const target = new URL(`../recordings/opencode-${version}.sse`, import.meta.url)
  await writeFile(target, frames.map((data) => `data: ${data}\n\n`).join(''))
  process.stdout.write(`${version}: ${frames.length} frames, ${reply.outcome}\n`)
}

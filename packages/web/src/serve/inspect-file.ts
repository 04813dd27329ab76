import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { ChannelLog } from '../inspect/channel.ts'
import { endLine, frameLine } from '../inspect/frame-line.ts'
import { readFrames } from '../inspect/read-frames.ts'

/** What a file of the inspector contains. Remove secrets from it before. */
export interface InspectFileOptions {
  /** The name of the recording for people. */
  readonly name: string
  /** Server-sent events or JSON lines, as `replay` reads them. */
  readonly recording: string | Uint8Array
  /** The recording, played to channels. */
  readonly logs: readonly ChannelLog[]
}

/**
 * Returns the inspector of a recording as one HTML file, which loads nothing from anywhere. Its policy lets only the script run
 * that this function writes. The recording is compressed and in base64, so nothing in it can be read as HTML.
 */
export function inspectFile({ name, recording, logs }: InspectFileOptions): string {
  const lines: string[] = []
  const reader = readFrames((frame) => lines.push(frameLine(frame)))
  reader.push(recording)
  lines.push(endLine(reader.end()))
  const saved = gzipSync(JSON.stringify({ name, lines, logs }), { level: 9 }).toString('base64')
  const script = inScript(builtFile('inspect.js'))
  const style = builtFile('inspect.css')
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Inspect</title>
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<script type="text/plain" id="saved">${saved}</script>
<script>${script}</script>
</body>
</html>
`
}

/** Reads a file that the build made of the page for this purpose. */
function builtFile(name: string): string {
  const folder = dirname(createRequire(import.meta.url).resolve('@reply/web/package.json'))
  return readFileSync(join(folder, 'dist/inspect-file', name), 'utf8')
}

/** Writes what would end or change a script's element so that it is the same text in the script. */
function inScript(script: string): string {
  return script.replaceAll(/<(?=\/script|!--)/gi, '\\x3C')
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

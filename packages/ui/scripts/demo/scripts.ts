import { callTool, type Scripts, sayText } from '@reply/testing'
import sharp from 'sharp'
import {
  permissions as bridgePermissions,
  scriptFor as bridgeScriptFor,
  scripts as bridgeScripts,
} from '../../../bridge/scripts/demo/scripts.ts'

/** The prompts that the page offers. */
export const suggestions: readonly { readonly label: string; readonly prompt: string }[] = [
  { label: 'Explain it', prompt: 'Please explain what this project does.' },
  { label: 'Run the tests', prompt: 'Please run the tests.' },
  { label: 'Fix the discount', prompt: 'The discount is ignored. Please fix it.' },
  { label: 'What changed?', prompt: 'Please tell me what changed.' },
  { label: 'A sub-agent', prompt: 'Please have a sub-agent review the cart.' },
  { label: 'A picture', prompt: 'Please show me a picture of the sales.' },
  { label: 'A story', prompt: 'Please tell me a long story. I may stop you.' },
]

/** Resolves with the file that `picture` shows, in the project of the demo's server: a small bar chart. */
export async function pictureFiles(): Promise<Readonly<Record<string, Uint8Array>>> {
  const bars = [38, 52, 45, 70, 64, 88].map(
    (height, index) =>
      `<rect x="${40 + index * 70}" y="${200 - 1.8 * height}" width="44" height="${1.8 * height}" rx="4" fill="#4a55c4" fill-opacity="${0.5 + 0.1 * index}"/>`,
  )
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="480" height="224"><rect width="480" height="224" fill="#fff"/>${bars.join('')}<path d="M24 200h432" stroke="#8a8a8a"/></svg>`
  return { 'sales.png': await sharp(Buffer.from(svg)).png().toBuffer() }
}

/** Returns the name of the script for a prompt. `other` if no pattern matches. */
export function scriptFor(prompt: string): string {
  // The server passes a picture on in a message of its own.
  if (/^attached media/i.test(prompt)) return 'attached'
  if (/picture/i.test(prompt)) return 'picture'
  return /changed/i.test(prompt) ? 'changed' : bridgeScriptFor(prompt)
}

/** The scripted answers of the model. Edits and tests require a permission, see `permissions`. */
export const scripts: Scripts = {
  ...bridgeScripts,
  picture: {
    title: 'The sales',
    steps: [[callTool('read', { filePath: 'sales.png' })]],
  },
  attached: { steps: [[sayText('The sales have more than doubled in six months.')]] },
  changed: {
    title: 'What changed',
    steps: [
      [callTool('bash', { command: 'git status --short', description: 'List what changed' })],
      {
        branches: [
          { includes: 'rejected', pieces: [sayText('Then I don’t look.')] },
          { includes: 'cart.js', pieces: [sayText('`src/cart.js` differs from the last commit.')] },
        ],
        otherwise: [sayText('Nothing differs from the last commit.')],
      },
    ],
  },
  other: {
    title: 'What I can do',
    steps: [
      [
        sayText(
          'I am a script, so I know few prompts: *explain the project*, *run the tests*, *fix the discount*, *see what changed*, *review the cart*, *show a picture*, *tell a long story*, and *answer with HTML*.',
        ),
      ],
    ],
  },
}

/** The permissions of the demo's server. The last pattern that fits counts. */
export const permissions = {
  ...bridgePermissions,
  bash: { ...bridgePermissions.bash, 'git status*': 'ask' },
} as const

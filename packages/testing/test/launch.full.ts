import { test } from 'vitest'
import { endProcess } from './ended-process.ts'

test('a process that ends by SIGTERM takes its server and its folders along', async () => {
  await endProcess('SIGTERM')
})

import { startWhatsApp } from '@reply/testing'
import { expect, test } from 'vitest'
import { runFirstProgram } from '../../sink/test/readme-program.ts'
import * as whatsappPackage from '../src/index.ts'

test("the page's first program posts the answer before it ends", async () => {
  const whatsapp = await startWhatsApp({ token: 'readme', phoneNumberId: '1' })
  whatsapp.say('491701234567', 'Hi')
  const { createCloudClient } = whatsappPackage
  const local = {
    ...whatsappPackage,
    createCloudClient: (options: Parameters<typeof createCloudClient>[0]) =>
      createCloudClient({ ...options, apiUrl: whatsapp.url }),
  }
  const logged = await runFirstProgram({
    page: 'docs/whatsapp.md',
    ...{ modules: { '@reply/whatsapp': local }, env: { WHATSAPP_TOKEN: 'readme', WHATSAPP_PHONE_NUMBER_ID: '1' } },
  })
  expect(whatsapp.screen('491701234567').at(-1)).toMatchObject({ text: 'It is a typo.' })
  expect(logged).toMatchObject([{ shown: 1, undelivered: [], doubtful: 0 }])
  await whatsapp.close()
})

/**
 * Returns the link that opens the private chat with a number: WhatsApp has none to a message or a group. Undefined without a number.
 * https://faq.whatsapp.com/5913398998672934
 */
export function chatLink(number: string | undefined): string | undefined {
  const digits = number?.replaceAll(/\D/g, '') ?? ''
  return digits === '' ? undefined : `https://wa.me/${digits}`
}

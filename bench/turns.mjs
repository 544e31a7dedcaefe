export const turns = async () => {}
